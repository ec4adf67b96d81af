"""Typed settings: the values allowed in a YAML file, and the errors for all others."""

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
