"""Removing stored runs."""

import shutil
from pathlib import Path

from assay.eval.runs.manifest import MANIFEST
from assay.retrievers.base import AssayError
from assay.retrievers.store.files import writing


def remove_run(folder: Path) -> None:
    """Remove a stored run and all that was exported of it.

    It is no run from the first moment on, so that a kill leaves none that is half there. Raises
    AssayError where there is no run, or it cannot be removed.
    """
    if not (folder / MANIFEST).is_file():
        raise AssayError(f"{folder}: no finished run here ({MANIFEST} is missing)")
    with writing(folder):
        (folder / MANIFEST).unlink()
        shutil.rmtree(folder)
