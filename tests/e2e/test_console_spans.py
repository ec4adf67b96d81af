"""Spans on the console, from processes of their own: on standard error, none of them lost."""

import json
import os
import subprocess
import sys

import pytest
from samples.small_project import write_project
from tools.processes import ASSAY

SEARCH = "hierarchical_document.search"


def read_spans(text):
    """Return the names of the spans that are printed as JSON among other lines."""
    names, decoder = [], json.JSONDecoder()
    while (begin := text.find("{\n")) >= 0:
        span, length = decoder.raw_decode(text[begin:])
        names.append(span["name"])
        text = text[begin + length :]
    return names


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "searches"),
    [(["search", "mine.yaml", "word1"], 1), (["run", "mine.yaml", "--no-track"], 6)],
)
def test_spans_are_printed_when_the_process_ends(tmp_path, words, searches):
    write_project(tmp_path)
    done = subprocess.run(
        [sys.executable, ASSAY, *words, "--json"],
        cwd=tmp_path,
        env=os.environ | {"OTEL_TRACES_EXPORTER": "console"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert read_spans(done.stderr).count(SEARCH) == searches
    assert "Traceback" not in done.stderr
