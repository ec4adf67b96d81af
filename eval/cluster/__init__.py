"""Runs distributed over a Ray cluster."""
