"""Typed settings: what a YAML file may say, and what is told where it says something else."""

from assay.retrievers.settings.base import Settings, Spread, Workshop, name_type
from assay.retrievers.settings.errors import explain_error, explain_errors, validate

__all__ = [
    "Settings",
    "Spread",
    "Workshop",
    "explain_error",
    "explain_errors",
    "name_type",
    "validate",
]
