"""The pipeline: its settings, indexing, search, variants and telemetry."""
