"""Calls of the command line in this process."""

import sys

from assay.eval.cli.main import main


def call(monkeypatch, capsys, *words):
    """Return the exit code of a command, and what it printed."""
    monkeypatch.setattr(sys, "argv", ["assay", *map(str, words)])
    try:
        main()
        status = 0
    except SystemExit as left:
        status = int(left.code or 0)
    said = capsys.readouterr()
    return status, f"{said.out}{said.err}"
