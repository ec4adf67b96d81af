"""Figures as pandas DataFrames, for the Python API."""
