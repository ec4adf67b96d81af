"""The regression gate: the verdict on a pipeline against its committed baseline."""
