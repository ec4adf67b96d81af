"""Where things lie on this machine. Machine facts come from the environment, never a config."""

import os
from pathlib import Path

DATASET = "tarnwick"


def reports_folder() -> Path:
    """Return `$ASSAY_REPORTS`, or `reports` in the working directory."""
    return Path(os.environ.get("ASSAY_REPORTS") or "reports").expanduser()


def default_dataset() -> str:
    """Return `$ASSAY_DATASET`, or the collection that comes with the project."""
    return os.environ.get("ASSAY_DATASET") or DATASET


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
