"""Anchors of judgments: offsets, the text with some context on both sides, and its headings.

The names and shapes are those of the Web Annotation Data Model of the W3C: TextPositionSelector
(https://www.w3.org/TR/annotation-model/#text-position-selector) and TextQuoteSelector.
"""

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.eval.collections.formats.rows import Row, RowError
from assay.retrievers.base.markdown import is_plain

POSITION, QUOTE = "TextPositionSelector", "TextQuoteSelector"
SELECTOR, STATUS = "selector", "status"
CONTEXT = 32  # characters kept on either side
SKETCH = 16  # lines by which a whole document is known again
SHORTEST_LINE = 20  # characters: shorter lines stand in many documents
KEYS = {POSITION: ("start", "end"), QUOTE: ("exact", "prefix", "suffix")}
FLAT = {"exact": "text"}
BLANKS = re.compile(r"\s+")
# Headings as nearly all are written: parsing Markdown would take most of a sync's time.
LANDMARK = re.compile(
    r"^ {0,3}(?:(?P<fence>```|~~~)|(?P<level>#{1,6})[ \t]+(?P<title>[^\n]*?)[ \t]*#*[ \t]*$)", re.M
)


@dataclass(frozen=True, slots=True)
class Anchor:
    """The anchor of a judgment: characters `start` to `end` of a document, which read `exact`.

    `exact` has no white space at its ends; "" is unknown. `headings` are those above it, the
    outermost first. `copies` is the number of places of the collection that had the text, 0 if
    unknown. For a `section`, the text is that below its heading. A whole document has neither text
    nor section; `lines` are digests of some of its lines.
    """

    path: str
    start: int = -1
    end: int = -1
    exact: str = ""
    prefix: str = ""
    suffix: str = ""
    headings: tuple[str, ...] = ()
    copies: int = 0
    section: str = ""
    lines: tuple[str, ...] = ()

    @property
    def is_document(self) -> bool:
        """True if a whole document was judged."""
        return self.start < 0 and not self.section


def flatten(row: Row) -> Row:
    """Return a row with its selectors as keys `start`, `end`, `text`, `prefix`, `suffix`.

    One without selectors is returned as it is. Raises RowError.
    """
    if not row.has(SELECTOR):
        return row
    selectors = row.values[SELECTOR]
    if not isinstance(selectors, list):
        raise RowError(f'"{SELECTOR}" must be a list of {POSITION} and {QUOTE}')
    values = {key: value for key, value in row.values.items() if key != SELECTOR}
    for selector in selectors:
        kind = selector.get("type") if isinstance(selector, dict) else None
        if kind not in KEYS:
            raise RowError(f'"{SELECTOR}" holds {kind!r}; allowed: {POSITION}, {QUOTE}')
        values |= {FLAT.get(key, key): selector.get(key) for key in KEYS[kind]}
    return Row(row.file, row.line, values)


def is_anchored(row: Row) -> bool:
    """Return True if a flattened row has an anchor: a text, or digests of lines."""
    return row.has("text") or row.has("lines")


def read_anchor(row: Row) -> Anchor:
    """Return the anchor of a flattened row. Raises RowError."""
    given = row.string("text", "")
    is_span = row.has("start") or row.has("end")
    start, end = (row.integer("start"), row.integer("end")) if is_span else (-1, -1)
    headings, lines = (_read_strings(row, key) for key in ("headings", "lines"))
    return Anchor(
        path=row.string("path"),
        start=start,
        end=end,
        exact=given.strip(),
        prefix=row.string("prefix", ""),
        suffix=row.string("suffix", ""),
        headings=headings,
        copies=row.integer("copies", 0),
        section=row.string("section", ""),
        lines=lines,
    )


def make_selectors(text: str, start: int, end: int) -> list[dict[str, Any]]:
    """Return the selectors of characters `start` to `end` of a document's text."""
    return [
        {"type": POSITION, "start": start, "end": end},
        {
            "type": QUOTE,
            "exact": text[start:end],
            "prefix": text[max(start - CONTEXT, 0) : start],
            "suffix": text[end : end + CONTEXT],
        },
    ]


def list_headings(path: str, text: str, start: int) -> list[str]:
    """Return the headings above a place of a document, the outermost first."""
    if is_plain(path):
        return []
    above: dict[int, str] = {}
    fence = ""
    for match in LANDMARK.finditer(text, 0, start + 1):
        if mark := match["fence"]:
            fence = "" if fence == mark else fence or mark
        elif not fence:
            level = len(match["level"])
            above = {i: title for i, title in above.items() if i < level}
            above[level] = match["title"]
    return list(above.values())


def digest_lines(text: str) -> set[str]:
    """Return a short digest of each line that is long enough to know a document by."""
    lines = map(str.strip, text.splitlines())
    return {f"{zlib.crc32(i.encode()):08x}" for i in lines if len(i) >= SHORTEST_LINE}


def sketch(text: str) -> list[str]:
    """Return the smallest digests of lines: two documents share about as many as lines."""
    return sorted(digest_lines(text))[:SKETCH]


def measure_support(anchor: Anchor, text: str, start: int, end: int) -> int:
    """Return the number of characters next to a place that were next to the anchor's text.

    Runs of white space count as one blank. The ends of a document count as characters.
    """
    wide = 2 * CONTEXT  # blanks may have become more
    before, after = text[max(start - wide, 0) : start], text[end : end + wide]
    kept_before = _mark_edge(anchor.prefix[::-1], CONTEXT)
    kept_after = _mark_edge(anchor.suffix, CONTEXT)
    return _count_equal(kept_before, _mark_edge(before[::-1], wide)) + _count_equal(
        kept_after, _mark_edge(after, wide)
    )


def stands_beside(anchor: Anchor, text: str, start: int, end: int) -> bool:
    """Return True if all context on one side of the anchor is next to a place, or is unknown."""
    before, after = len(anchor.prefix), len(anchor.suffix)
    if not before and not after:
        return True
    return (
        text[max(start - before, 0) : start] == anchor.prefix and before in (CONTEXT, start)
    ) or (text[end : end + after] == anchor.suffix and after in (CONTEXT, len(text) - end))


def _mark_edge(context: str, whole: int) -> str:
    """Return a context with single blanks, and a mark where the document ends within it."""
    return BLANKS.sub(" ", context) + ("" if len(context) >= whole else "\0")


def _count_equal(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _read_strings(row: Row, key: str) -> tuple[str, ...]:
    values: Any = row.values.get(key) or ()
    if not isinstance(values, list | tuple) or not all(isinstance(i, str) for i in values):
        raise RowError(f'"{key}" must be a list of strings')
    return tuple(values)


def without_anchor(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a row without those of its anchor."""
    dropped = {SELECTOR, STATUS, "start", "end", "text", "prefix", "suffix", "headings", "copies"}
    return {key: value for key, value in values.items() if key not in dropped | {"path", "lines"}}
