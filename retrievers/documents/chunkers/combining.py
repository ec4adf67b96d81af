"""The grouping of sections into groups of a target size."""

import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from assay.retrievers.documents.chunkers.base import gather_bare, span_of
from assay.retrievers.documents.splitting import Span
from assay.retrievers.documents.structure.blocks import Section
from assay.retrievers.documents.structure.structure import Structure
from assay.retrievers.documents.tokens import TokenMap

# Titles of sections that are never combined, and of those that belong to the one before.
SPECIAL = re.compile(
    r"(?:faq|frequently asked|glossary|changelog|release notes|warnings?\b|caution|examples?\b"
    r"|troubleshooting|known issues)",
    re.I,
)
ATTACHED = re.compile(r"\b(?:examples?|notes?)\b", re.I)


@dataclass(frozen=True, slots=True)
class Unit:
    """A section with the bare headings above it; `long` if it is to be cut to the target."""

    sections: Sequence[Section]
    tokens: int
    long: bool


@dataclass(slots=True)
class Group:
    """Units that become one chunk, or several if one of them is `long`."""

    units: list[Unit]

    @property
    def tokens(self) -> int:
        """The tokens of all units."""
        return sum(unit.tokens for unit in self.units)

    @property
    def long(self) -> bool:
        """True if a unit is to be cut to the target."""
        return any(unit.long for unit in self.units)

    @property
    def sections(self) -> list[Section]:
        """The sections of all units, in order."""
        return [section for unit in self.units for section in unit.sections]

    @property
    def span(self) -> Span:
        """Its beginning and end."""
        return self.units[0].sections[0].start, self.units[-1].sections[-1].end


@dataclass(frozen=True, slots=True)
class Combination:
    """The groups of a document, part by part, and the number of decisions of each kind.

    A part lies between two hard breaks. Decisions are hard_break, absorbed (a micro-section),
    merged (a section that fits the target), attached (an example or note), smoothed (the small
    remainder of a part, joined to the group before or evened with it) and crossed (a small part
    joined over a hard break).
    """

    parts: Sequence[Sequence[Group]]
    decisions: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Combiner:
    """The rules of combining. A heading of `break_levels` is a hard break; a section over the
    target whose level is in `long_levels` is cut to it.
    """

    target_min: int
    target_max: int
    micro_tokens: int
    max_tokens: int
    break_levels: Container[int]
    long_levels: Container[int]
    absorb_across: bool

    def is_special(self, section: Section) -> bool:
        """Return True if `section` stands for itself, by its title."""
        return SPECIAL.match(section.name) is not None

    def is_break(self, section: Section) -> bool:
        """Return True if `section` begins a new part."""
        return section.level in self.break_levels or self.is_special(section)

    def combine(self, structure: Structure, tokens: TokenMap) -> Combination:
        """Return the sections of a document in groups, with the decisions that made them."""
        parts: list[list[Group]] = []
        decisions: Counter[str] = Counter()
        for sections in gather_bare(structure, self.is_break):
            size = tokens.estimate(*span_of(sections))
            long = size > self.target_max and sections[-1].level in self.long_levels
            unit = Unit(sections, size, long)
            if not parts or any(map(self.is_break, sections)):
                decisions["hard_break"] += bool(parts)
                parts.append([Group([unit])])
            elif decision := self._join(parts[-1][-1], unit):
                decisions[decision] += 1
                parts[-1][-1].units.append(unit)
            else:
                parts[-1].append(Group([unit]))
        for part in parts:
            decisions["smoothed"] += self._smooth(part)
        if self.absorb_across:
            before = len(parts)
            parts = self._cross(parts)
            decisions["crossed"] += before - len(parts)
        return Combination(parts, decisions)

    def _join(self, group: Group, unit: Unit) -> str:
        """Return the decision by which `unit` joins `group`; "" if it opens a new group."""
        total = group.tokens + unit.tokens
        if total > self.max_tokens and not (group.long or unit.long):
            return ""
        if self._absorbs(group, unit):
            return "absorbed"
        if total <= self.target_max:
            return "merged"
        return "attached" if _belongs(group.units[-1], unit) else ""

    def _absorbs(self, group: Group, *units: Unit) -> bool:
        """Return True if one of the two is so small that it may exceed the target, once."""
        added = sum(unit.tokens for unit in units)
        largest = max(unit.tokens for unit in (*group.units, *units))
        small = min(added, group.tokens) < self.micro_tokens
        return small and group.tokens + added <= max(self.target_max, largest) + self.micro_tokens

    def _smooth(self, part: list[Group]) -> bool:
        """Join a small last group to the one before it, or even the two out."""
        if len(part) < 2 or part[-1].tokens >= self.target_min:
            return False
        units = [*part[-2].units, *part[-1].units]
        total = sum(unit.tokens for unit in units)
        if total > self.max_tokens and not part[-2].long:
            return False
        part[-2:] = self._even_out(units) if total > self.target_max else [Group(units)]
        return True

    def _even_out(self, units: Sequence[Unit]) -> list[Group]:
        """Return `units` in the two groups of the most equal sizes, or one.

        It is one group if either would be below the target.
        """
        halves = [
            (Group([*units[:i]]), Group([*units[i:]]))
            for i in range(1, len(units))
            if not _belongs(units[i - 1], units[i])
        ]
        fitting = [pair for pair in halves if all(map(self._is_on_target, pair))]
        if not fitting:
            return [Group([*units])]
        return [*min(fitting, key=lambda pair: abs(pair[0].tokens - pair[1].tokens))]

    def _is_on_target(self, group: Group) -> bool:
        return self.target_min <= group.tokens <= self.target_max

    def _cross(self, parts: Sequence[list[Group]]) -> list[list[Group]]:
        """Return the parts, those below `micro_tokens` joined to the part before or after them."""
        found: list[list[Group]] = []
        for part in parts:
            if found and self._may_cross(found[-1], part):
                if self._is_micro(part) and self._absorbs(found[-1][-1], *part[0].units):
                    found[-1][-1].units += part[0].units
                    continue
                if self._is_micro(found[-1]) and self._absorbs(part[0], *found[-1][0].units):
                    part[0].units[:0] = found.pop()[0].units
            found.append(part)
        return found

    def _is_micro(self, part: Sequence[Group]) -> bool:
        return len(part) == 1 and part[0].tokens < self.micro_tokens

    def _may_cross(self, *parts: Sequence[Group]) -> bool:
        opening = [section for part in parts for section in part[0].units[0].sections]
        return not any(map(self.is_special, opening))


def _belongs(before: Unit, unit: Unit) -> bool:
    """Return True if `unit` continues what is `before` it: an example, a note, or after a colon."""
    expected = before.sections[-1].title.endswith(":")
    return expected or ATTACHED.search(unit.sections[0].title) is not None
