"""Traces of a user's own pipeline: read, sampled, and converted to queries and rankings."""
