"""Calls of the command line in this process."""

import json
import sys

from click.testing import CliRunner

from assay.eval.cli.main import assay, main
from assay.retrievers.base import AssayError


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


def invoke(*words):
    """Call a command, whose error is not printed but the result's `exception`."""
    return CliRunner().invoke(assay, [str(word) for word in words])


def read_json(done):
    """Return the JSON that a command printed; it must have succeeded."""
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout)


def check_error(done, *words):
    """Assert that a command ended with an error of one line that has these words."""
    assert isinstance(done.exception, AssayError), done.output
    message = str(done.exception)
    assert "\n" not in message
    for word in words:
        assert word in message
