"""Targets: success criteria, measured, each with a verdict."""
