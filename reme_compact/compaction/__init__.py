"""From verdicts to a proposal: ranking, budget, and the step a host awaits."""
