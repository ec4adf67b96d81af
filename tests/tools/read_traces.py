"""Traces read from files of any content."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from doubles.spans import Emitter

from assay.eval.studies.traces.traces import open_book


def read(content, name="spans.json"):
    """Return the traces in a file, in bytes, in JSON values or in spans made, and their faults."""
    if isinstance(content, Path):
        with open_book([str(content)]) as book:
            return list(book.traces()), book.faults
    if isinstance(content, Emitter):
        content = content.line()
    elif not isinstance(content, bytes):
        content = json.dumps(content).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return read(path)
