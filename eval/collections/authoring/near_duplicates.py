"""Planted duplicates: copies of documents, exact ones and lightly edited ones."""

import hashlib
import re
from collections.abc import Mapping

from assay.retrievers.base import AssayError
from assay.retrievers.base.frontmatter import frontmatter_end

FOLDER = "copies"
EVERY = 3  # of every three documents one is copied as it is, one edited, one left alone
LINE_WORDS = 12  # a line of fewer words is not edited
FENCE = re.compile(r" {0,3}(?:`{3}|~{3})")
# What is no running text: headings, tables, quotations, indented code, comments, definitions.
MARKED = re.compile(r" {0,3}[#|>\[<]|\t| {4}")
CODE = re.compile(r"`[^`]*`")
PAIR = re.compile(r"(?<![\w`'’./-])([a-z]{2,}) ([a-z]{2,})(?![\w`'’/-])")


def plant(texts: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return copies of every third text, and edited ones of every third, in the order of ids.

    By id, each with the id of its original and its text. Raises AssayError where such ids exist.
    """
    copies = {}
    for number, (id_, text) in enumerate(sorted(texts.items())):
        if number % EVERY == 0:
            copies[f"{FOLDER}/exact/{id_}"] = (id_, text)
        elif number % EVERY == 1:
            copies[f"{FOLDER}/edited/{id_}"] = (id_, edit(text))
    if there := sorted(copies.keys() & texts.keys()):
        raise AssayError(f"{there[0]}: is there already; choose kinds other than duplicate")
    return copies


def edit(text: str) -> str:
    """Return `text` with two neighbouring words of each longer line of prose changed in place.

    Headings, code, tables, names and the frontmatter stay, and so do all offsets.
    """
    body = frontmatter_end(text)
    lines, fenced = [], False
    for line in text[body:].splitlines(keepends=True):
        fenced ^= bool(FENCE.match(line))
        prose = not fenced and not MARKED.match(line) and len(line.split()) >= LINE_WORDS
        lines.append(_swap(line) if prose else line)
    return text[:body] + "".join(lines)


def _swap(line: str) -> str:
    """Return `line` with one pair of words swapped, which its digest chooses."""
    code = [span.span() for span in CODE.finditer(line)]
    pairs = [
        pair
        for pair in PAIR.finditer(line)
        if pair[1] != pair[2] and not any(a < pair.end() and pair.start() < b for a, b in code)
    ]
    if not pairs:
        return line
    number = int.from_bytes(hashlib.sha256(line.encode("utf-8", "surrogatepass")).digest()[:8])
    pair = pairs[number % len(pairs)]
    return f"{line[: pair.start()]}{pair[2]} {pair[1]}{line[pair.end() :]}"
