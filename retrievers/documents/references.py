"""Cross-references: § 4.2, Section 5(a), subsection (b) of this section, Chapter 18 of Title 2.

A reference is found by its form alone and names its target by an id. `targets.Targets` says
where, if anywhere in the collection, that target stands.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from retrievers.documents.identifiers import (
    DASH,
    LABEL,
    LABELS,
    NAMES,
    NUMBER,
    join_id,
    split_title,
)
from retrievers.documents.paragraphs import label_styles
from retrievers.documents.structure import Structure

# What statutes call the levels of their numbered paragraphs, and how each is labelled.
_LEVELS = {"subsection": "letter", "paragraph": "digit", "subparagraph": "capital",
           "clause": "roman", "subclause": "Roman"}  # fmt: skip
_ORDER = ("letter", "digit", "capital", "roman", "Roman", "double")
_LEVEL = rf"(?:sub-)*(?:{'|'.join(sorted(_LEVELS, key=len, reverse=True))})"
_NAME = rf"(?:{'|'.join(NAMES)})"
_SIGN = r"(?:§+|\b(?:sections?|secs?\.|clauses?|rules?|paragraphs?|paras?\.))"
_CODE = (
    r"\b\d{1,3}\s+(?:U\.?\s?S\.?\s?C\.?(?:\s?A\.?)?|C\.?\s?F\.?\s?R\.?|D\.?\s?C\.?\s?M\.?\s?R\.?)"
    r"\s*(?:App\.\s*)?"
)
_AND = r"\s*(?:,\s*(?:(?:and|or)\s+)?|(?:and/or|and|or)\s+|&\s*)"
_ACT = r"(?:Act|Code|Laws?|Statutes?|Regulations?|Amendments?|Constitution|Order)"

# § 4.2(a), §§ 801 through 804 and 811, 42 U.S.C. § 1437f
_NUMBERED = re.compile(
    rf"(?P<code>{_CODE})?{_SIGN}\s*(?P<number>{NUMBER})(?P<labels>{LABELS})", re.I
)
_NEXT_NUMBER = re.compile(rf"{_AND}(?P<number>{NUMBER})(?P<labels>{LABELS})(?![\w%])", re.I)
# subsection (a), paragraphs (1) and (2)(A)
_LABELLED = re.compile(rf"\b(?P<level>{_LEVEL})s?\s+(?P<labels>{LABEL}{LABELS})", re.I)
_NEXT_LABELS = re.compile(rf"{_AND}(?P<labels>{LABEL}{LABELS})")
# Chapter 18, subchapters IV and V, Appendix B
_DIVISION = rf"(?P<number>\d+[A-Z]?(?:-[A-Z])?|[IVXLC]+(?:{DASH}?[A-Z])?|[A-Z])(?![\w’'])"
_NAMED = re.compile(rf"\b(?P<name>(?i:{_NAME}))s?\s+{_DIVISION}")
_NEXT_DIVISION = re.compile(rf"{_AND}{_DIVISION}")
_RANGE = re.compile(
    rf"\s*(?:through|to|–|—)\s*(?:§+\s*)?(?:{NUMBER}{LABELS}|{LABEL}{LABELS}|[IVXLC]+\b)"
)
# 42-3502.10 and 4.2 with no sign before them
_BARE = re.compile(
    r"\b(?:see|under|to|by|in|with|of)\s+"
    rf"(?P<number>\d+[A-Za-z]?(?:\.|{DASH}){NUMBER})(?P<labels>{LABELS})(?![\w%])",
    re.I,
)
_BY_TITLE = re.compile(
    r"\b(?:see(?:\s+also)?|(?:as\s+)?(?:defined|described|explained|set\s+out)\s+(?:in|under)"
    r"|refer\s+to|pursuant\s+to)\s+(?:the\s+section\s+(?:on\s+)?)?[\"“*_`]*(?=[^\W\d_])",
    re.I,
)
DEEPEST = 5  # subclause of clause of subparagraph of paragraph of subsection of section
_THIS = re.compile(rf"\s+of\s+this\s+(?P<unit>section|{_LEVEL}|{_NAME}|act)\b", re.I)
_OF = re.compile(r"\s+of\s+")
_OF_DOCUMENT = re.compile(
    r"\s+(?:of|in)\s+(?:(?:the|our|your)\s+)?"
    r"(?:\[\[(?P<wiki>[^\[\]|#\n]+)|\[[^\[\]\n]*\]\((?P<href>[^()#\s]+))"
)
_OTHER_LAW = re.compile(rf"\s+of\s+(?:the|title)\s+[A-Z][^.;()\n]{{0,120}}?\b{_ACT}\b")


@dataclass(frozen=True, slots=True)
class Reference:
    """A mention, from `start` to `end`, of another place.

    `section` is the id of the section meant, `labels` the numbered paragraph within it, `within`
    the ids of what the text says it is part of, `document` the document where the text links to
    one. `external` marks another body of law, which no section id of the collection can name.
    """

    start: int
    end: int
    section: str
    labels: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    external: bool = False
    document: str = ""

    @property
    def target(self) -> str:
        """The id of the place meant."""
        return join_id(self.section, *(f"({label})" for label in self.labels))


def find_references(structure: Structure) -> list[Reference]:
    """Return the references of a document in order, those in code left out."""
    return list(_Reader(structure).read())


@dataclass(frozen=True, slots=True)
class _Unit:
    """One of the places that a mention names."""

    start: int
    end: int
    section: str
    labels: tuple[str, ...] = ()


class _Reader:
    """Reads the references of one document from left to right."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._text = structure.text
        self._ids = {section.id for section in structure.sections}
        titles: dict[str, set[str]] = {}
        for section in structure.sections:
            name = split_title(section.title).rstrip(" .:").lower()
            if len(name) > 3:
                titles.setdefault(name, set()).add(section.id)
        self._titles = {name: min(ids) for name, ids in titles.items() if len(ids) == 1}

    def read(self) -> Iterator[Reference]:
        """Yield the references outside code and headings."""
        patterns = {
            _NUMBERED: self._read_numbered,
            _LABELLED: self._read_labelled,
            _NAMED: self._read_named,
            _BARE: self._read_bare,
            _BY_TITLE: self._read_title,
        }
        matches = [
            (match.start(), number, match, read)
            for number, (pattern, read) in enumerate(patterns.items())
            for match in pattern.finditer(self._text, self._structure.frontmatter.end)
        ]
        silent = [
            (block.start, block.end)
            for block in self._structure.blocks
            if block.kind in ("code", "heading")
        ]
        until = 0
        for start, _, match, read in sorted(matches, key=lambda item: item[:2]):
            at = bisect_right(silent, (start, len(self._text))) - 1
            if start < until or (at >= 0 and start < silent[at][1]):
                continue
            for reference in read(match):
                until = max(until, reference.end)
                yield reference

    def _read_numbered(self, match: re.Match[str]) -> Iterator[Reference]:
        units = self._list_numbers(match)
        end = units[-1].end
        external = bool(match["code"]) or _OTHER_LAW.match(self._text, end) is not None
        within, end = self._read_within(end)
        linked = _OF_DOCUMENT.match(self._text, end)
        document = (linked["wiki"] or linked["href"]).strip() if linked else ""
        for unit in units:
            last = end if unit is units[-1] else unit.end
            yield Reference(unit.start, last, unit.section, unit.labels, within, external, document)

    def _list_numbers(self, match: re.Match[str]) -> list[_Unit]:
        """Return what § 4(a), § 4(a) or (b), §§ 4 through 7 and 9 list, ranges as one."""
        units = [self._number(match, match.start())]
        plural = re.search(r"§§|s\s*$|s\.\s*$", self._text[match.start() : match.start("number")])
        while True:
            last = units[-1]
            if spread := _RANGE.match(self._text, last.end):
                units[-1] = _Unit(last.start, spread.end(), last.section, last.labels)
                continue
            following = _NEXT_NUMBER.match(self._text, last.end) if plural else None
            if following and _shape(following["number"]) == _shape(match["number"]):
                units.append(self._number(following, following.start("number")))
            elif (more := _NEXT_LABELS.match(self._text, last.end)) and (
                labels := _beside(last.labels, _labels(more["labels"]))
            ):
                units.append(_Unit(more.start("labels"), more.end(), last.section, labels))
            else:
                return units

    def _read_labelled(self, match: re.Match[str], depth: int = 0) -> Iterator[Reference]:
        spans = [(match.start(), match.end(), _labels(match["labels"]))]
        while True:
            start, end, labels = spans[-1]
            if spread := _RANGE.match(self._text, end):
                spans[-1] = (start, spread.end(), labels)
            elif (more := _NEXT_LABELS.match(self._text, end)) and _beside(
                labels, _labels(more["labels"])
            ):
                spans.append((more.start("labels"), more.end(), _labels(more["labels"])))
            else:
                break
        base, end = self._read_base(match, spans[-1][1], depth)
        for number, (start, stop, labels) in enumerate(spans):
            stop = end if number == len(spans) - 1 else stop
            full = (*base.labels, *labels)
            yield Reference(start, stop, base.section, full, base.within, base.external)

    def _read_base(self, match: re.Match[str], end: int, depth: int) -> tuple[Reference, int]:
        """Return what the labels of `match`, which end at `end`, belong to, and where that ends."""
        if this := _THIS.match(self._text, end):
            style = _style(this["unit"])
            labels = self._labels_above(match.start(), style, inclusive=True) if style else ()
            return self._here(match.start(), labels), this.end()
        if of := _OF.match(self._text, end):
            above: Iterator[Reference] = iter(())
            if number := _NUMBERED.match(self._text, of.end()):
                above = self._read_numbered(number)
            elif depth < DEEPEST and (label := _LABELLED.match(self._text, of.end())):
                above = self._read_labelled(label, depth + 1)
            if reference := next(above, None):
                return reference, reference.end
        if _OTHER_LAW.match(self._text, end):
            return Reference(0, 0, "", external=True), end
        styles = label_styles(_labels(match["labels"])[0])
        style = level if (level := _style(match["level"])) in styles else styles[0]
        return self._here(match.start(), self._labels_above(match.start(), style)), end

    def _read_named(self, match: re.Match[str]) -> Iterator[Reference]:
        units = [_Unit(match.start(), match.end(), join_id(match["name"], match["number"]))]
        while following := _NEXT_DIVISION.match(self._text, units[-1].end):
            if _shape(following["number"]) != _shape(match["number"]):
                break
            section = join_id(match["name"], following["number"])
            units.append(_Unit(following.start("number"), following.end(), section))
        external = _OTHER_LAW.match(self._text, units[-1].end) is not None
        within, end = self._read_within(units[-1].end)
        for unit in units:
            last = end if unit is units[-1] else unit.end
            yield Reference(unit.start, last, unit.section, (), within, external)

    def _read_within(self, end: int) -> tuple[tuple[str, ...], int]:
        """Return the units named by “of Chapter 5 of Title 2” after `end`, and where they end."""
        within: list[str] = []
        while of := _OF.match(self._text, end):
            named = _NAMED.match(self._text, of.end())
            if named is None:
                break
            within.append(join_id(named["name"], named["number"]))
            end = named.end()
        if this := _THIS.match(self._text, end):
            end = this.end()
        return tuple(within), end

    def _read_bare(self, match: re.Match[str]) -> Iterator[Reference]:
        unit = self._number(match, match.start("number"))
        if unit.section in self._ids:
            yield Reference(unit.start, unit.end, unit.section, unit.labels)

    def _read_title(self, match: re.Match[str]) -> Iterator[Reference]:
        if not self._text[match.end()].isupper():
            return
        following = self._text[match.end() : match.end() + 120].lower()
        named = [name for name in self._titles if re.match(rf"{re.escape(name)}\b", following)]
        if named:
            name = max(named, key=len)
            start = match.end()
            yield Reference(start, start + len(name), self._titles[name])

    def _number(self, match: re.Match[str], start: int) -> _Unit:
        section = join_id("sec", match["number"])
        return _Unit(start, match.end(), section, _labels(match["labels"]))

    def _here(self, offset: int, labels: tuple[str, ...]) -> Reference:
        return Reference(offset, offset, self._structure.section_at(offset).id, labels)

    def _labels_above(self, offset: int, style: str, inclusive: bool = False) -> tuple[str, ...]:
        """Return the labels around `offset` whose style stands above `style`, or is it."""
        paragraphs = self._structure.paragraphs
        number = bisect_right(paragraphs, offset, key=lambda item: item.start) - 1
        if number < 0 or offset >= paragraphs[number].end:
            return ()
        limit = _ORDER.index(style) + inclusive
        pairs = zip(paragraphs[number].labels, paragraphs[number].styles, strict=True)
        return tuple(label for label, kind in pairs if kind in _ORDER[:limit])


def _style(level: str) -> str:
    """Return how the labels of a level are written; nothing for what is no such level."""
    *deeper, name = level.lower().replace("sub-", "sub- ").split()
    if name not in _LEVELS:
        return ""
    return _ORDER[min(_ORDER.index(_LEVELS[name]) + len(deeper), len(_ORDER) - 1)]


def _labels(text: str) -> tuple[str, ...]:
    return tuple(label[1:-1] for label in re.findall(LABEL, text))


def _beside(labels: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path of `other` where it lists a sibling of one of `labels`, else nothing."""
    for level in range(len(labels) - 1, -1, -1):
        if set(label_styles(labels[level])) & set(label_styles(other[0])):
            return (*labels[:level], *other)
    return ()


def _shape(number: str) -> tuple[bool, bool]:
    """Return what two numbers of one list have in common: digits first, and joined by marks."""
    return number[0].isdigit(), bool(re.search(rf"\.|{DASH}", number))
