"""The regression gate: is a pipeline worse than its committed baseline."""
