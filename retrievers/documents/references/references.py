"""Cross-references: § 4.2, Article 12(3), subsection (b) of this section, Chapter 18 of Title 2.

A reference is found by its form alone and names its target by an id. `targets.Targets` finds the
target in the collection, if it is there.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

from assay.retrievers.documents.references import patterns
from assay.retrievers.documents.references.citation_units import (
    Unit,
    divide,
    find_forms,
    find_shape,
    find_style,
    list_beside,
    list_labels,
    reach,
    read_below,
)
from assay.retrievers.documents.structure.identifiers import (
    COMMON,
    DASH,
    find_division,
    join_id,
)
from assay.retrievers.documents.structure.numerals import count_on
from assay.retrievers.documents.structure.paragraphs import label_styles
from assay.retrievers.documents.structure.structure import Structure


@dataclass(frozen=True, slots=True)
class Reference:
    """A mention, from `start` to `end`, of another place.

    `section` is the id of the section meant, `labels` the numbered paragraph within it, `through`
    the ids of the sections after it in a range, `within` the ids of the units that the text says
    it is part of, `document` the document that the text links to, if any. `external` marks another
    body of law, which no section id names unless `law`, as the text calls it, is in the collection.
    """

    start: int
    end: int
    section: str
    labels: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    external: bool = False
    document: str = ""
    through: tuple[str, ...] = ()
    law: str = ""

    @property
    def target(self) -> str:
        """The id of the place meant, the first of a range."""
        return join_id(self.section, *(f"({label})" for label in self.labels))

    def spread(self) -> list["Reference"]:
        """Return a reference to each place of a range, this one first."""
        others = (replace(self, section=id_, labels=(), through=()) for id_ in self.through)
        return [self, *others]


def find_references(structure: Structure) -> list[Reference]:
    """Return the references of a document in order, without those in code."""
    return list(_Reader(structure).read())


class _Reader:
    """A reader of the references of one document from left to right."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._text = structure.text
        self._ids = {section.id for section in structure.sections}
        titles: dict[str, set[str]] = {}
        for section in structure.sections:
            name = section.name.rstrip(" .:").lower()
            if len(name) > 3:
                titles.setdefault(name, set()).add(section.id)
        self._titles = {name: min(ids) for name, ids in titles.items() if len(ids) == 1}

    def read(self) -> Iterator[Reference]:
        """Yield the references outside code and headings."""
        readers = {
            patterns.NUMBERED: self._read_numbered,
            patterns.LABELLED: self._read_labelled,
            patterns.NAMED: self._read_named,
            patterns.BARE: self._read_bare,
            patterns.BY_TITLE: self._read_title,
        }
        silent = [
            (block.start, block.end)
            for block in self._structure.blocks
            if block.kind in ("code", "heading")
        ]
        links = [
            (link.start("text"), link.end("text"), link["href"])
            for link in patterns.LINKED.finditer(self._text)
        ]
        until = 0
        for match, read in find_forms(readers, self._text, self._structure.frontmatter.end):
            start = match.start()
            i = bisect_right(silent, (start, len(self._text))) - 1
            if start < until or (i >= 0 and start < silent[i][1]):
                continue
            at = bisect_right(links, start, key=lambda link: link[0]) - 1
            href = links[at][2] if at >= 0 and start < links[at][1] else ""
            for reference in read(match):
                until = max(until, reference.end)
                # [Section 5](b.md) is that document's.
                yield replace(reference, document=reference.document or href)

    def _read_numbered(self, match: re.Match[str]) -> Iterator[Reference]:
        units = self._list_numbers(match)
        end = units[-1].end
        other = patterns.OTHER_LAW.match(self._text, end)
        external, law = bool(match["code"]) or other is not None, other["law"] if other else ""
        within, end = self._read_within(end)
        linked = patterns.OF_DOCUMENT.match(self._text, end)
        document = (linked["wiki"] or linked["href"]).strip() if linked else ""
        for unit in units:
            last = end if unit is units[-1] else unit.end
            if patterns.PARAGRAPH.match(match[0]) and within and _has_paragraphs(within[0]):
                unit = replace(  # paragraph 4 of Schedule 2
                    unit, section=within[0], labels=(unit.section[4:], *unit.labels), through=()
                )
            yield Reference(
                unit.start,
                last,
                unit.section,
                unit.labels,
                within,
                external,
                document,
                unit.through,
                law,
            )

    def _list_numbers(self, match: re.Match[str]) -> list[Unit]:
        """Return the places of § 4(a), § 4(a) or (b), §§ 4 through 7 and 9, ranges as one."""
        sign = self._text[match.start() : match.start("number")]
        plural = re.search(r"§§|s\s*$|\ws\.\s*$", sign)
        units = [self._go_below(self._number(match, match.start(), bool(plural)))]
        number = match["number"]
        if units[0].through:  # 3-5 is as 3
            number = number[: len(number) // 2]
        while True:
            last = units[-1]
            if spread := patterns.RANGE.match(self._text, last.end):
                units[-1] = reach(last, spread, bool(plural))
                continue
            following = patterns.NEXT_NUMBER.match(self._text, last.end) if plural else None
            if following and find_shape(following["number"]) == find_shape(number):
                units.append(self._number(following, following.start("number"), True))
            elif (more := patterns.NEXT_LABELS.match(self._text, last.end)) and (
                labels := list_beside(last.labels, list_labels(more["labels"]))
            ):
                units.append(Unit(more.start("labels"), more.end(), last.section, labels))
            else:
                return units

    def _read_labelled(self, match: re.Match[str], depth: int = 0) -> Iterator[Reference]:
        spans = [(match.start(), match.end(), list_labels(match["labels"]))]
        while True:
            start, end, labels = spans[-1]
            if spread := patterns.RANGE.match(self._text, end):
                spans[-1] = (start, spread.end(), labels)
            elif (more := patterns.NEXT_LABELS.match(self._text, end)) and list_beside(
                labels, list_labels(more["labels"])
            ):
                spans.append((more.start("labels"), more.end(), list_labels(more["labels"])))
            else:
                break
        base, end = self._read_base(match, spans[-1][1], depth)
        for number, (start, stop, labels) in enumerate(spans):
            stop = end if number == len(spans) - 1 else stop
            full = (*base.labels, *labels)
            yield Reference(start, stop, base.section, full, base.within, base.external)

    def _read_base(self, match: re.Match[str], end: int, depth: int) -> tuple[Reference, int]:
        """Return the unit of the labels of `match`, which end at `end`, and its end."""
        if this := patterns.THIS.match(self._text, end):
            style = find_style(this["unit"])
            labels = self._labels_above(match.start(), style, inclusive=True) if style else ()
            return self._here(match.start(), labels), this.end()
        if of := patterns.OF.match(self._text, end):
            above: Iterator[Reference] = iter(())
            if number := patterns.NUMBERED.match(self._text, of.end()):
                above = self._read_numbered(number)
            elif depth < patterns.DEEPEST and (
                label := patterns.LABELLED.match(self._text, of.end())
            ):
                above = self._read_labelled(label, depth + 1)
            if reference := next(above, None):
                return reference, reference.end
        if patterns.OTHER_LAW.match(self._text, end):
            return Reference(0, 0, "", external=True), end
        styles = label_styles(list_labels(match["labels"])[0])
        style = level if (level := find_style(match["level"])) in styles else styles[0]
        return self._here(match.start(), self._labels_above(match.start(), style)), end

    def _read_named(self, match: re.Match[str]) -> Iterator[Reference]:
        name = find_division(match["name"])
        known = join_id(name, match["number"]) in self._ids
        short = match["name"].endswith(".") and match["name"].islower()
        if (short or name in COMMON) and not known:
            return  # ch. 5 may be a channel, or the chapter of another law; note 5 a request
        units = [divide(name, match, match.start())]
        if name in patterns.PARAGRAPHED:
            units = [self._go_below(units[0])]
        while True:
            if spread := patterns.RANGE.match(self._text, units[-1].end):
                units[-1] = reach(units[-1], spread, match["name"].lower().endswith("s"))
            following = patterns.NEXT_DIVISION.match(self._text, units[-1].end)
            if following is None or find_shape(following["number"]) != find_shape(match["number"]):
                break
            units.append(divide(name, following, following.start("number")))
        other = patterns.OTHER_LAW.match(self._text, units[-1].end)
        external, law = other is not None, other["law"] if other else ""
        within, end = self._read_within(units[-1].end)
        for unit in units:
            last = end if unit is units[-1] else unit.end
            yield Reference(
                unit.start, last, unit.section, unit.labels, within, external, "", unit.through, law
            )

    def _read_within(self, end: int) -> tuple[tuple[str, ...], int]:
        """Return the units named by “of Chapter 5 of Title 2” after `end`, and their end."""
        within: list[str] = []
        while of := patterns.OF.match(self._text, end):
            named = patterns.NAMED.match(self._text, of.end())
            if named is None:
                break
            within.append(join_id(find_division(named["name"]), named["number"]))
            end = named.end()
        if this := patterns.THIS.match(self._text, end):
            end = this.end()
        return tuple(within), end

    def _read_bare(self, match: re.Match[str]) -> Iterator[Reference]:
        unit = self._number(match, match.start("number"), False)
        if unit.section in self._ids:
            yield Reference(unit.start, unit.end, unit.section, unit.labels)

    def _read_title(self, match: re.Match[str]) -> Iterator[Reference]:
        if not self._text[match.end()].isupper():
            return
        start = match.end()
        following = self._text[start : start + 120].lower()
        heads = (following[: edge.start()] for edge in re.finditer(r"\b", following))
        if named := [head for head in heads if head in self._titles]:
            yield Reference(start, start + len(named[-1]), self._titles[named[-1]])

    def _number(self, match: re.Match[str], start: int, plural: bool) -> Unit:
        """Return the place of a number; 4–6 after a plural sign is a range unless § 4–6 exists."""
        number, labels = match["number"], list_labels(match["labels"])
        section = join_id("sec", number)
        parts = re.split(rf"\s?{DASH}\s?", number)
        half = len(parts) // 2
        first, last = "-".join(parts[:half]), "-".join(parts[half:])
        # 1.2.3-1.2.5 reads as a range by its dots; 42-516 is one number without a plural sign.
        if (
            (plural or "." in first)
            and 2 * half == len(parts)
            and not labels
            and section not in self._ids
        ):
            through = tuple(join_id("sec", other) for other in count_on(first, last))
            section = join_id("sec", first) if through else section
            return Unit(start, match.end(), section, (), through)
        return Unit(start, match.end(), section, labels)

    def _go_below(self, unit: Unit) -> Unit:
        """Return the place below `unit` that para. 1 lit. f or the like names after it."""
        labels, end = read_below(self._text, unit.end)
        return replace(unit, end=end, labels=(*unit.labels, *labels))

    def _here(self, offset: int, labels: tuple[str, ...]) -> Reference:
        return Reference(offset, offset, self._structure.section_at(offset).id, labels)

    def _labels_above(self, offset: int, style: str, inclusive: bool = False) -> tuple[str, ...]:
        """Return the labels around `offset` whose style is above `style`, or equal to it."""
        paragraphs = self._structure.paragraphs
        number = bisect_right(paragraphs, offset, key=lambda item: item.start) - 1
        if number < 0 or offset >= paragraphs[number].end:
            return ()
        limit = patterns.ORDER.index(style) + inclusive
        pairs = zip(paragraphs[number].labels, paragraphs[number].styles, strict=True)
        return tuple(label for label, kind in pairs if kind in patterns.ORDER[:limit])


def _has_paragraphs(id_: str) -> bool:
    return id_.partition("_")[0] in patterns.PARAGRAPHED
