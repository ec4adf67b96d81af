"""The gate on files: rankings that others made, beside judgments, and nothing else."""
