"""Typed settings: what a YAML file may say, and what is told where it says something else."""

from assay.retrievers.settings.base import Resources, Settings, Spread, name_type
from assay.retrievers.settings.errors import explain_error, explain_errors, validate

__all__ = [
    "Resources",
    "Settings",
    "Spread",
    "explain_error",
    "explain_errors",
    "name_type",
    "validate",
]
