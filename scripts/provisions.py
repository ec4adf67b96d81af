"""Sections and numbered paragraphs of statutes, as their headings and labels tell of them.

Read for look-ups, and apart from how any retriever reads them: a paragraph's place is told by its
indentation alone, and a section whose labels then do not count on is left out whole.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.retrievers.base import Document
from assay.retrievers.base.markdown import Heading, is_plain, read_headings
from assay.retrievers.base.quotes import QuoteSpan

_DASHES = re.compile("[\u2010-\u2015\u2212]")
# § 42–3131.17. Title; Section 12A — Title
_NUMBER = re.compile(r"(?:§+|Sections?\b|Sec\.)\s*(\d+[A-Za-z]{0,2}(?:[-.:]\d+[A-Za-z]{0,2})*)")
# Or any number of a section, as it opens a heading: 4.2 Refunds, 19. Lights
_OPENING = re.compile(
    rf"{_NUMBER.pattern}|(\d+(?:\.\d+[A-Za-z]?)+|\d+[A-Za-z]?(?=[.):]))(?=[\s.):]|$)"
)
# Or one that nothing sets off, where the headings of a level count from 1: 3 Mounting
_BARE = re.compile(r"(\d{1,2})\s+[A-Z]")
_LABEL = r"\((?:\d{1,3}[A-Za-z]?|[A-Za-z]{1,5})(?:-\d{1,2}[A-Za-z]?)?\)"
# (a) or 1. at the head of a line, and whether another label follows at once.
_MARK = re.compile(
    rf"^(?P<indent>[ \t]*)(?:(?P<label>{_LABEL})|(?P<item>\d{{1,3}})\.)"
    r"(?P<more>[ \t]*\()?(?=\s|\()",
    re.M,
)
_FIRST = ("a", "1", "A", "i", "I")


@dataclass(frozen=True, slots=True)
class Provision:
    """A section, or a numbered paragraph of one by the `labels` that lead to it, and its place."""

    number: str
    labels: tuple[str, ...]
    place: QuoteSpan


@dataclass(frozen=True, slots=True)
class _Mark:
    """A label at `start`, indented by `indent`; that of an item of a list by half a column more."""

    start: int
    indent: float
    label: str


def read_sections(document: Document) -> Iterator[Provision]:
    """Yield the sections whose headings number them with a § or as Section."""
    for number, heading in _list_sections(document):
        yield Provision(number, (), _trim(document, heading.start, heading.end))


def read_numbered(document: Document) -> Iterator[Provision]:
    """Yield the sections that a number opens, with or without a sign, in any kind of document."""
    found = [*_list_sections(document, _OPENING)]
    levels: dict[int, list[tuple[str, Heading]]] = {}
    for number, heading in _list_sections(document, _BARE):
        levels.setdefault(heading.level, []).append((number, heading))
    for bare in levels.values():
        if len(bare) > 1 and [int(number) for number, _ in bare] == [*range(1, len(bare) + 1)]:
            found += bare
    for number, heading in sorted(found, key=lambda item: item[1].start):
        yield Provision(number, (), _trim(document, heading.start, heading.end))


def read_paragraphs(document: Document) -> Iterator[Provision]:
    """Yield the numbered paragraphs of those sections, with what stands below each.

    The first item of a list below (a) is (a)(1). What is numbered otherwise is left out.
    """
    for number, heading in _list_sections(document):
        paths = _nest(_list_marks(document.text, heading))
        if not _count_on([labels for _, labels in paths]):
            continue
        for i, (mark, labels) in enumerate(paths):
            later = (other for other, path in paths[i + 1 :] if len(path) <= len(labels))
            end = min((other.start for other in later), default=heading.end)
            yield Provision(number, labels, _trim(document, mark.start, end))


def _list_sections(
    document: Document, number: re.Pattern[str] = _NUMBER
) -> Iterator[tuple[str, Heading]]:
    if is_plain(document.id):
        return
    for heading in read_headings(document.text):
        if match := number.match(_DASHES.sub("-", heading.title)):
            yield next(filter(None, match.groups())), heading


def _list_marks(text: str, heading: Heading) -> list[_Mark]:
    """Return the labels at the heads of lines; none where a line has several at once."""
    marks: list[_Mark] = []
    for match in _MARK.finditer(text, heading.body, heading.end):
        if match["more"]:
            return []
        indent = len(match["indent"].expandtabs(4))
        if match["label"]:
            marks.append(_Mark(match.start("label"), indent, match["label"][1:-1]))
        elif marks:  # a list before any label belongs to none
            marks.append(_Mark(match.start("item"), indent + 0.5, match["item"]))
    return marks


def _nest(marks: Sequence[_Mark]) -> list[tuple[_Mark, tuple[str, ...]]]:
    """Return each mark with the labels that lead to it: those above it that are indented less."""
    paths = []
    above: list[_Mark] = []
    for mark in marks:
        above = [*(other for other in above if other.indent < mark.indent), mark]
        paths.append((mark, tuple(other.label for other in above)))
    return paths


def _count_on(paths: Sequence[tuple[str, ...]]) -> bool:
    """Say whether under each label the next begin a count, are of its kind, and differ."""
    below: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        below.setdefault(path[:-1], []).append(path[-1])
    return all(
        labels[0] in _FIRST
        and len(set(labels)) == len(labels)
        and len(set(map(_kind, labels))) == 1
        for labels in below.values()
    )


def _kind(label: str) -> str:
    first = label[0]
    return "digit" if first.isdigit() else "small" if first.islower() else "capital"


def _trim(document: Document, start: int, end: int) -> QuoteSpan:
    """Return a place without the white space at its end."""
    return QuoteSpan(document.id, start, start + len(document.text[start:end].rstrip()))
