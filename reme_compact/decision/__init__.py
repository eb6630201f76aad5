"""Asking a decision model: task context, evidence, batches, verdicts, and the models themselves."""
