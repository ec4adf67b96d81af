"""Numbered paragraphs, as statutes and contracts have them: (a), (1), (A), (i), nested."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.retrievers.documents.structure.blocks import Section
from assay.retrievers.documents.structure.identifiers import LABEL, join_id

# A label at the head of a line, with at most a list marker or emphasis before it.
_LINE = re.compile(rf"^([ \t]*)(?:[-+*] |[*_]{{1,2}})?((?:{LABEL}[ \t]*){{1,6}})", re.M)
_ONE = re.compile(LABEL)
_BLANK_LINE = re.compile(r"(?:\A|\n)[ \t]*\r?\n\Z")
_DEEPEST = 12  # labels of a path; what goes on deeper is no numbering, and begins a path of its own
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Characters `start` to `end` under one label, those of the labels below it included.

    `labels` is the path from the outermost label; `styles` says of each whether it is a letter,
    digit, capital, roman, Roman (in capitals) or double (as in (aa)). `id` continues the id of
    the section, and is empty where that has none.
    """

    start: int
    end: int
    id: str
    labels: tuple[str, ...]
    styles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Mark:
    """A label and its place. A second label of a line has no indentation of its own."""

    start: int
    indent: int | None
    label: str
    style: str


def number_paragraphs(
    text: str, sections: Sequence[Section], verbatim: Sequence[tuple[int, int]]
) -> tuple[Paragraph, ...]:
    """Return the numbered paragraphs of each section in order, outside the `verbatim` spans."""
    found: list[Paragraph] = []
    for section in sections:
        paths = list(_nest(_marks(text, section.body, section.end, verbatim)))
        for path, end in zip(paths, _ends(paths, section.end), strict=True):
            labels = tuple(mark.label for mark in path)
            id_ = join_id(section.id, *(f"({label})" for label in labels)) if section.id else ""
            styles = tuple(mark.style for mark in path)
            found.append(Paragraph(path[-1].start, end, id_, labels, styles))
    return tuple(found)


def _ends(paths: Sequence[tuple[_Mark, ...]], end: int) -> list[int]:
    """Return the end of each paragraph: the next that is not below it, or `end`."""
    ends: list[int] = []
    later: list[tuple[_Mark, ...]] = []
    for path in reversed(paths):
        while later and len(later[-1]) > len(path):
            later.pop()
        ends.append(later[-1][-1].start if later else end)
        later.append(path)
    return ends[::-1]


def _marks(text: str, begin: int, end: int, verbatim: Sequence[tuple[int, int]]) -> Iterator[_Mark]:
    """Yield the labels at the heads of lines that open a paragraph or follow a labelled line."""
    next_line = begin
    for match in _LINE.finditer(text, begin, end):
        line = match.start()
        opens = line in (begin, next_line) or _BLANK_LINE.search(text, max(line - 99, 0), line)
        i = bisect_right(verbatim, (line, end)) - 1
        if not opens or (i >= 0 and line < verbatim[i][1]):
            continue
        line_end = text.find("\n", match.end(), end)
        next_line = end if line_end < 0 else line_end + 1
        for number, label in enumerate(_ONE.finditer(match[2])):
            start = match.start(2) + label.start() if number else line
            yield _Mark(start, None if number else len(match[1]), label[0][1:-1], "")


def _nest(marks: Iterator[_Mark]) -> Iterator[tuple[_Mark, ...]]:
    """Yield the path of every mark.

    A mark is a sibling of the last one of its style and indentation; one that is indented deeper,
    or begins a count of another style, is a child of the mark before it.
    """
    path: list[_Mark] = []
    for mark in marks:
        siblings = [
            (level, style)
            for level, other in enumerate(path)
            for style in label_styles(mark.label)
            if _is_sibling(other, mark, style)
        ]
        exact = [item for item in siblings if path[item[0]].indent in (mark.indent, None)]
        indent = max((other.indent or 0 for other in path), default=0)
        if exact:
            level, style = exact[-1]
            path = path[:level]
        elif siblings and (mark.indent or 0) <= indent:
            level, style = siblings[-1]
            path = path[:level]
        else:
            style = _first_style(mark.label)
            if mark.indent is not None:
                limit = mark.indent + (_value(mark.label, style) == 1)
                path = [other for other in path if (other.indent or 0) < limit]
        if len(path) == _DEEPEST:
            path = []
        path.append(_Mark(mark.start, mark.indent, mark.label, style))
        yield tuple(path)


def _is_sibling(other: _Mark, mark: _Mark, style: str) -> bool:
    """Return True if `mark`, read in `style`, counts on from `other`.

    If a label can be read in two styles, as (i), only the next of a count is a sibling.
    """
    if other.style != style or mark.indent is None:
        return False
    step = _value(mark.label, style) - _value(other.label, style)
    return len(label_styles(mark.label)) == 1 or step in (0, 1)


def label_styles(label: str) -> tuple[str, ...]:
    """Return the styles in which `label` can be read."""
    core = _core(label)
    if core[0].isdigit():
        return ("digit",)
    small, roman = ("letter", "roman") if core.islower() else ("capital", "Roman")
    if len(core) == 1:
        return (small, roman) if core.lower() in _ROMAN else (small,)
    if set(core.lower()) <= set(_ROMAN):
        return (roman,)
    return ("double",) if len(set(core)) == 1 else (small,)


def _first_style(label: str) -> str:
    """Return the style of a label without a sibling: (i) begins a Roman count, (c) does not."""
    styles = label_styles(label)
    return styles[-1] if _core(label).lower() == "i" else styles[0]


def _value(label: str, style: str) -> int:
    """Return the place of `label` in a count; that of (2A) and (2-1) is that of (2)."""
    core = _core(label).lower()
    if style == "digit":
        return int(re.match(r"\d+", core)[0])  # type: ignore[index]
    if style in ("roman", "Roman"):
        digits = [_ROMAN[letter] for letter in core]
        return sum(
            -digit if any(later > digit for later in digits[i + 1 :]) else digit
            for i, digit in enumerate(digits)
        )
    return ord(core[0]) - ord("a") + 1


def _core(label: str) -> str:
    """Return `label` without the part after a dash."""
    return re.split(r"[^0-9A-Za-z]", label)[0]
