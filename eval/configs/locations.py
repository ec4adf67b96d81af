"""Locations on this machine. Machine facts come from the environment, never from a config."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.eval.configs.project import Project

DATASET = "tarnwick"


def reports_folder() -> Path:
    """Return `$ASSAY_REPORTS`, the project file's folder, or `reports` in the working folder."""
    named = os.environ.get("ASSAY_REPORTS")
    if not named and (project := find_project()):
        named = project.reports
    return Path(named or "reports").expanduser()


def default_dataset() -> str:
    """Return `$ASSAY_DATASET`, that of the project file, or the one that comes with Assay."""
    named = os.environ.get("ASSAY_DATASET")
    if not named and (project := find_project()):
        named = project.collection
    return named or DATASET


def find_project() -> "Project | None":
    """Return the project of the working folder's `assay.toml` or `pyproject.toml`; None without.

    Raises AssayError naming the file, the key and what is wrong.
    """
    if not any(map(os.path.exists, ("assay.toml", "pyproject.toml"))):
        return None
    from assay.eval.configs.project import read_project

    return read_project()


def threads() -> int:
    """Return `$ASSAY_THREADS`, or the number of processors this process may use."""
    from assay.retrievers.base import AssayError

    wanted = os.environ.get("ASSAY_THREADS", "")
    if not wanted:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if not wanted.isdecimal() or int(wanted) < 1:
        raise AssayError(f"ASSAY_THREADS: {wanted!r} is not a number of threads; allowed: 1, 2, …")
    return int(wanted)
