"""How a config is timed in a process of its own."""

import sys
from collections.abc import Sequence
from pathlib import Path

from eval.runs.interleaved_timing import Contender

# The module that answers; every version of the project has it under this name.
TIMING = "eval.cli.timing"


def make_contender(config: str, overrides: Sequence[str]) -> Contender:
    """Return how a config is timed by this version of the code, here."""
    command = (sys.executable, "-m", TIMING, config, *overrides)
    return Contender(config, command, Path.cwd())
