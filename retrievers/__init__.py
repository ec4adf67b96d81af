"""The pipelines under test: documents in, ranked passages out."""
