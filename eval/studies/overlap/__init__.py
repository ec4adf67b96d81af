"""Overlap: how much the results of pipelines agree."""
