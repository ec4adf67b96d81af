"""Overlap: the agreement of the results of pipelines."""
