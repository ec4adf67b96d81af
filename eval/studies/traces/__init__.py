"""Traces of somebody's own pipeline: read, sampled, and turned into queries and rankings."""
