"""How a config is timed in a process of its own: by this code, or by that of a checkout."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from eval.runs.interleaved_timing import Contender

# The module that answers; every version of the project has it under this name.
TIMING = "eval.cli.timing"
# Without -P Python would look for it in the working folder first, where a user may have an `eval`.
MODULE = ("-P", "-m", TIMING)


def make_contender(config: str, overrides: Sequence[str]) -> Contender:
    """Return how a config is timed by this version of the code, here."""
    return Contender(config, (sys.executable, *MODULE, config, *overrides), Path.cwd())


def make_base(name: str, folder: Path, config: str, overrides: Sequence[str]) -> Contender:
    """Return how a config is timed in a checkout, `folder`.

    By the interpreter of its `.venv`, where it has one, and where it is a checkout of this project
    by its own code, else by the version that is installed there.
    """
    own = folder.resolve() / ".venv" / "bin" / "python"
    python = str(own) if own.exists() else sys.executable
    paths = [str(folder.resolve()), *filter(None, [os.environ.get("PYTHONPATH")])]
    code = {"PYTHONPATH": os.pathsep.join(paths)} if _has_code(folder) else {}
    return Contender(name, (python, *MODULE, config, *overrides), folder, code)


def _has_code(folder: Path) -> bool:
    timing = Path(*TIMING.split(".")).with_suffix(".py")
    return (folder / timing).is_file() and (folder / "retrievers").is_dir()
