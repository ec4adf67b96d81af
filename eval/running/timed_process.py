"""Processes that time a config each: with this code, or with that of a checkout."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from assay.eval.runs.execution.interleaved_timing import TimedProcess

TIMING = "assay.eval.cli.timing"  # the module that answers
# Without -P Python would look for it in the working folder first, where a user may have an `assay`.
MODULE = ("-P", "-m", TIMING)


def make_contender(config: str, overrides: Sequence[str]) -> TimedProcess:
    """Return a process that times a config with this version of the code, here."""
    return TimedProcess(config, (sys.executable, *MODULE, config, *overrides), Path.cwd())


def make_base(name: str, folder: Path, config: str, overrides: Sequence[str]) -> TimedProcess:
    """Return a process that times a config in the checkout `folder`.

    `find_python` decides whose code it runs.
    """
    python, code = find_python(folder)
    return TimedProcess(name, (python, *MODULE, config, *overrides), folder, code)


def find_python(folder: Path) -> tuple[str, dict[str, str]]:
    """Return the interpreter for a checkout, and the environment variables that it needs.

    It is that of its `.venv` if there is one, else this one. If the folder is a checkout of this
    project, the interpreter finds the checkout's own code, else the version that is installed.
    """
    own = folder.resolve() / ".venv" / "bin" / "python"
    python = str(own) if own.exists() else sys.executable
    paths = [str(folder.resolve()), *filter(None, [os.environ.get("PYTHONPATH")])]
    return python, {"PYTHONPATH": os.pathsep.join(paths)} if _has_code(folder) else {}


def _has_code(folder: Path) -> bool:
    """Return True if a folder is a checkout of this project."""
    return all((folder / name).exists() for name in ("assay/__init__.py", "eval", "retrievers"))
