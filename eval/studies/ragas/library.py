"""The ragas library, imported on first use."""

import importlib
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import hint_extra


def load() -> Any:
    """Return ragas with its metrics. Raises AssayError if it cannot be imported."""
    try:
        importlib.import_module("ragas.metrics")
        importlib.import_module("ragas.metrics.collections")
        return importlib.import_module("ragas")
    except ImportError as error:
        raise AssayError(f"ragas: {hint_extra('ragas')} ({error})") from None
