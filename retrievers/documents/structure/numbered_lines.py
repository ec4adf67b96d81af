"""Headings recognized only by their number: `Section 13. Fees` in a PDF or plain text.

They are read in documents without headings other than a title. A line is one that begins a
paragraph, with `§ 13`, `Article 5`, `Chapter II` or another form of `jurisdictions.yaml` before a
title or the text itself; one that stands alone with `4. Refunds` or `4.2 Refunds`, whose text
follows; and `4. REFUNDS. The fee …`. A line of a table of contents, or one that runs on in lower
case (Section 5 applies), is none. Text after a number alone (`7.1 The fee …`) is a paragraph.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assay.retrievers.base.patterns import compile_late
from assay.retrievers.documents.structure.blocks import Section
from assay.retrievers.documents.structure.identifiers import (
    ABBREVIATED,
    COMMON,
    DASH,
    LABELS,
    NAMES,
    NUMBER,
    SECTION_SHORTS,
    SECTION_WORDS,
    identify,
    join_id,
    write_pattern,
)
from assay.retrievers.documents.structure.numerals import WORD
from assay.retrievers.documents.structure.paragraphs import Paragraph

LONGEST = 100  # characters of a title
# Divisions on the level of the text, whatever came before them.
BESIDE = ("appendix", "annex", "schedule", "exhibit")

_SIGN = rf"(?:§|{write_pattern(SECTION_WORDS, SECTION_SHORTS)})\s*"
_NAME = rf"{write_pattern((name for name in NAMES if name not in COMMON), ABBREVIATED)}\s+"
_NUMBERED = (
    rf"(?:{_SIGN}|{_NAME})(?:{NUMBER}|(?<=\s){WORD})"
    rf"|{_NAME}(?:[IVXLC]+{DASH}?[A-Z]?|[A-Z]{DASH}?\d*)"
)
# What follows on the number: nothing, or a title after a stop, a dash, or a space.
_SIGNED = compile_late(
    rf"[ \t]*(?P<number>{_NUMBERED})(?![\w(]|[.:/]\d|,)(?P<stop>[.:]?[ \t]*(?:{DASH}[ \t]*)?)"
    r"(?P<rest>[^\r\n]*)",
    re.I,
)
_BARE = compile_late(
    rf"[ \t]*(?P<number>\d{{1,3}}(?:\.\d{{1,3}})*[A-Z]?{LABELS})(?P<stop>\.?[ \t]+)"
    r"(?P<rest>\S[^\r\n]*)"
)
_CAPITALS = compile_late(r"[A-Z][A-Z \t,/&’'-]{2,}(?P<stop>[.:])?(?=\s|\Z)")
_ITEM = compile_late(
    r"^[ \t]*(?P<number>\d{1,3}(?:\.\d{1,3})*)(?:\.|[ \t])[ \t]*(?=[A-Z“\"][^\r\n]{30})", re.M
)
_LINE = compile_late(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
# At the end of a line, of which no more than that is read at each place.
_LEADERS = compile_late(r"(?:(?:\.[ \t]?){3}\d*|(?:[ \t]{2}|\t)\d+)\Z")
_SENTENCE = compile_late(rf"(.{{1,{LONGEST}}}?\.)(?:\s|\Z)")
_ENDED = compile_late(r"[.;:!?)\]”\"’'*_]\s*\Z")


@dataclass(frozen=True, slots=True)
class _Mark:
    """A line that opens a section; `kind` is that of its number, `depth` the dots in it."""

    start: int
    body: int
    title: str
    kind: str
    depth: int = 0


def find_numbered_lines(
    text: str, whole: Section, verbatim: Sequence[tuple[int, int]]
) -> tuple[Section, ...]:
    """Return the sections of `whole`, which is the text under a title or none, in order.

    Text before the first is a section like `whole`; without any, only `whole` is returned.
    Offsets are those of `text`, in code points. Nothing in `verbatim` spans opens one.
    """
    marks = _leave_out(list(_find_marks(text, whole, verbatim)), text)
    if not marks:
        return (whole,)
    ends = [*(mark.start for mark in marks[1:]), whole.end]
    found = [replace(whole, end=marks[0].start)] if marks[0].start > whole.start else []
    above = [(whole.level, title) for title in whole.headings]
    for mark, level, end in zip(marks, _find_levels(marks), ends, strict=True):
        level += whole.level
        above = [item for item in above if item[0] < level]
        above.append((level, mark.title))
        headings = tuple(title for _, title in above)
        id_ = identify(mark.title)
        found.append(Section(mark.start, mark.body, end, level, mark.title, headings, id_))
    return tuple(found)


def _find_marks(text: str, whole: Section, verbatim: Sequence[tuple[int, int]]) -> Iterator[_Mark]:
    before, blank = "", True
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text, whole.body, whole.end)]
    for i, (start, end) in enumerate(lines):
        line = text[start:end].strip()
        inside = bisect_right(verbatim, (start, len(text))) - 1
        if line and not (inside >= 0 and start < verbatim[inside][1]) and not _LEADERS.search(line):
            following = text[end : lines[i + 1][1]].strip() if i + 1 < len(lines) else ""
            mark = None
            if blank or _ENDED.search(before) or before.isupper() or _SIGNED.match(before):
                mark = _read_signed(text, start, end)
            if mark is None and blank:
                mark = _read_capitals(text, start, end)
            if mark is None and blank and not following:
                later = (text[slice(*lines[n])].strip() for n in range(i + 1, len(lines)))
                mark = _read_bare(text, start, end, next(filter(None, later), ""))
            if mark:
                yield mark
        before, blank = line, not line


def _read_signed(text: str, start: int, end: int) -> _Mark | None:
    """Return the mark of `§ 13. Fees` or `§ 13 The fee is due`, whose title is the number alone."""
    match = _SIGNED.match(text, start, end)
    if match is None:
        return None
    rest, stop = match["rest"].strip(), match["stop"].strip()
    first = re.search(r"\w", rest)
    if first and not (rest[first.start()].isupper() or (stop and rest[first.start()].isdigit())):
        return None
    id_ = identify(match["number"])
    kind = id_.partition("_")[0]
    if len(rest) <= LONGEST:
        return _Mark(start, end, text[start:end].strip(), kind)
    titled = _SENTENCE.match(rest) if stop else None
    length = match.end("stop") - start + (titled.end(1) if titled else 0)
    return _Mark(start, start + length, text[start : start + length].strip(), kind)


def _read_capitals(text: str, start: int, end: int) -> _Mark | None:
    """Return the mark of `4. REFUNDS`, alone or with a stop before its text."""
    match = _BARE.match(text, start, end)
    title = _CAPITALS.match(match["rest"]) if match else None
    if match is None or title is None or not (title["stop"] or title[0] == match["rest"].strip()):
        return None
    body = end if title[0] == match["rest"].strip() else match.start("rest") + title.end()
    return _Mark(start, body, text[start:body].strip(), "sec", match["number"].count("."))


def _read_bare(text: str, start: int, end: int, after: str) -> _Mark | None:
    """Return the mark of `4.2 Refunds`, which is a title with text `after` it, not an item."""
    match = _BARE.match(text, start, end)
    if match is None or not match["rest"][0].isupper() or len(match["rest"]) > LONGEST:
        return None
    dotted = match["number"].count(".")
    follows = _BARE.match(after)
    if match["rest"].rstrip()[-1] in ".;:,?!" or not after:
        return None
    if follows and follows["number"].count(".") <= dotted:
        return None
    if not (dotted or "." in match["stop"]):
        return None
    return _Mark(start, end, text[start:end].strip(), "sec", dotted)


def _leave_out(marks: Sequence[_Mark], text: str) -> list[_Mark]:
    """Leave out entries of a table of contents, and running heads of pages.

    An entry is a title without text after it that occurs again or ends the text, as a reference
    may; a running head is a title that occurred before.
    """
    last = {mark.title: i for i, mark in enumerate(marks)}
    kept: dict[str, _Mark] = {}
    for i, mark in enumerate(marks):
        end = marks[i + 1].start if i + 1 < len(marks) else len(text)
        final = i + 1 == len(marks)
        listed = (final or last[mark.title] > i) and not text[mark.body : end].strip()
        if not listed:
            kept.setdefault(mark.title, mark)
    return list(kept.values())


def _find_levels(marks: Sequence[_Mark]) -> list[int]:
    """Return the level of each mark: kinds of numbers are nested in the order they first occur.

    Sections by number are below all divisions but articles, and those with more dots deeper.
    """
    kinds = list(dict.fromkeys(mark.kind for mark in marks if mark.kind not in BESIDE))
    if "sec" in kinds and "article" not in kinds[kinds.index("sec") :]:
        kinds.remove("sec")
        kinds.append("sec")
    return [1 if mark.kind in BESIDE else kinds.index(mark.kind) + 1 + mark.depth for mark in marks]


def find_numbered_texts(text: str, sections: Sequence[Section]) -> Iterator[Paragraph]:
    """Yield the paragraphs after numbers alone in the sections of `find_numbered_lines`, in order.

    `7.1 The fee` is sec_7_1; `3. The fee` is article_12_3 under Article 12, and sec_3 without a
    section. Numbers without a dot must count on from 1.
    """
    count = 0
    for section in sections:
        count = 0 if section.id else count
        found: list[tuple[int, int, str]] = []
        for match in _ITEM.finditer(text, section.body, section.end):
            number = match["number"]
            if "." in number:
                found.append((match.start(), number.count("."), join_id("sec", number)))
            elif int(number) == count + 1:
                count += 1
                found.append((match.start(), 0, join_id(section.id or "sec", number)))
        later = [(section.end, -1)]
        ends = []
        for start, depth, _ in reversed(found):
            while later[-1][1] > depth:
                later.pop()
            ends.append(later[-1][0])
            later.append((start, depth))
        for (start, _, id_), end in zip(found, reversed(ends), strict=True):
            yield Paragraph(start, end, id_, (), ())
