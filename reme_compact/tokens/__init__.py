"""Token counters, and the estimate of a decision request's size."""
