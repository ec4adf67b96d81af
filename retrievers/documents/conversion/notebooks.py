"""Jupyter notebooks: Markdown cells as they are, code as fenced blocks with its output."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
OVERWRITTEN = re.compile(r"^.*\r(?=[^\n])", re.M)  # progress bars write a line many times
BACKTICKS = re.compile(r"^ *(`{3,})", re.M)
SHOWN = ("text/markdown", "text/plain")
PICTURE = "image/"


def read_notebook(text: str) -> str:
    """Return the notebook `text`, of version 3 or 4, as Markdown. Raises ValueError."""
    notebook = json.loads(text)
    if not isinstance(notebook, dict):
        raise ValueError("is no notebook: it is no mapping")
    sheets = notebook.get("worksheets") or [notebook]
    if not all(
        isinstance(sheet, dict) and isinstance(sheet.get("cells"), list) for sheet in sheets
    ):
        raise ValueError("is no notebook: it has no list of cells")
    language = notebook.get("metadata", {}).get("language_info", {}).get("name", "python")
    cells = (cell for sheet in sheets for cell in sheet["cells"])
    return "\n\n".join(part for cell in cells for part in _render_cell(cell, language) if part)


def _render_cell(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    text = _join(cell.get("source", cell.get("input", "")))
    if cell.get("cell_type") == "heading":  # of version 3
        yield f"{'#' * int(cell.get('level', 1))} {' '.join(text.split())}"
    elif cell.get("cell_type") != "code":
        yield text.strip()
    else:
        yield _fence(text, language)
        for output in cell.get("outputs", ()):
            yield _render_output(output)


def _render_output(output: Mapping[str, Any]) -> str:
    """Return the text that a reader sees of an output, "" for a picture."""
    data: Mapping[str, Any] = output.get("data", {})
    if any(kind.startswith(PICTURE) for kind in data) or "png" in output:
        return ""
    if output.get("output_type") in ("error", "pyerr"):
        return _fence(f"{output.get('ename', '')}: {output.get('evalue', '')}", "")
    kind = next((kind for kind in SHOWN if kind in data), "")
    text = _join(data[kind] if kind else output.get("text", ""))
    if kind == SHOWN[0]:
        return text.strip()
    return _fence(OVERWRITTEN.sub("", COLOURS.sub("", text)), "")


def _fence(text: str, language: str) -> str:
    if not text.strip():
        return ""
    marks = max((match[1] for match in BACKTICKS.finditer(text)), key=len, default="``")
    fence = "`" * (len(marks) + 1)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"


def _join(lines: Any) -> str:
    return lines if isinstance(lines, str) else "".join(lines)
