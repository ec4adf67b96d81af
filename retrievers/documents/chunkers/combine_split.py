"""Small sections combined to a target size, within the limits that meaning sets."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field, model_validator

from retrievers.documents.blocks import Section
from retrievers.documents.chunkers.base import Chunker, Piece, gather_bare, span_of
from retrievers.documents.cutting import Cutter
from retrievers.documents.identifiers import split_title
from retrievers.documents.structure import Structure
from retrievers.documents.tokens import TokenMap

# Sections that stand for themselves, and those that belong to what is before them.
SPECIAL = re.compile(
    r"(?:faq|frequently asked|glossary|changelog|release notes|warnings?\b|caution|examples?\b"
    r"|troubleshooting|known issues)",
    re.I,
)
ATTACHED = re.compile(r"\b(?:examples?|notes?)\b", re.I)


@dataclass(slots=True)
class Group:
    """Sections that become one chunk."""

    sections: list[Section]
    tokens: int

    def add(self, other: "Group") -> None:
        """Take in the sections of `other`, which come next."""
        self.sections += other.sections
        self.tokens += other.tokens


@dataclass(frozen=True, slots=True)
class Combination:
    """The groups of a document, part by part, and how often the combiner decided what.

    A part lies between two hard breaks. Decisions are hard_break, absorbed (a micro-section),
    merged (a section that fits the target), attached (an example or note) and smoothed (the
    small remainder of a part, joined to the group before).
    """

    parts: Sequence[Sequence[Group]]
    decisions: Counter[str] = field(default_factory=Counter)


class CombineSplitChunker(Chunker):
    """Sections combined to a target size within each H2; what is over the maximum is split."""

    type: Literal["combine_split"]
    target_min: int = Field(800, ge=1, description="a smaller remainder joins the chunk before")
    target_max: int = Field(1500, ge=16, description="sections are combined up to so many tokens")
    micro_tokens: int = Field(
        120, ge=0, description="a section below is absorbed even if the target is exceeded"
    )
    max_tokens: int = Field(7900, ge=16, description="largest chunk, in tokens; larger ones split")
    overlap_tokens: int = Field(100, ge=0, description="tokens a split repeats of the one before")

    @model_validator(mode="after")
    def _fits(self) -> "CombineSplitChunker":
        if not self.target_min <= self.target_max <= self.max_tokens:
            raise ValueError("target_min, target_max and max_tokens must not fall in this order")
        if 2 * self.overlap_tokens > self.max_tokens:
            raise ValueError("overlap_tokens: at most half of max_tokens")
        return self

    @property
    def limit(self) -> int | None:
        """The absolute maximum, not the target."""
        return self.max_tokens

    @property
    def overlap(self) -> int:
        """Of what is split."""
        return self.overlap_tokens

    def scope(self, structure: Structure, offset: int) -> tuple[int, int]:
        """Return the part that holds `offset`: all that lies between two hard breaks."""
        units = list(gather_bare(structure, is_hard_break))
        begins = [unit[0].start for unit in units if any(map(is_hard_break, unit))]
        number = bisect_right(begins, offset)
        ends = [structure.frontmatter.end, *begins, len(structure.text)]
        return ends[number], ends[number + 1]

    def split(self, structure: Structure, tokens: TokenMap) -> Iterator[Piece]:
        """Yield the groups, those over the maximum cut."""
        cutter = Cutter(structure, tokens, self.max_tokens, self.overlap_tokens)
        for part in self.combine(structure, tokens).parts:
            for group in part:
                for span in cutter.cut(*span_of(group.sections)):
                    yield Piece(*span)

    def combine(self, structure: Structure, tokens: TokenMap) -> Combination:
        """Return the sections of a document in groups, with the decisions that made them."""
        parts: list[list[Group]] = []
        decisions: Counter[str] = Counter()
        for sections in gather_bare(structure, is_hard_break):
            unit = Group(sections, tokens.estimate(*span_of(sections)))
            if not parts or any(map(is_hard_break, sections)):
                decisions["hard_break"] += bool(parts)
                parts.append([unit])
            elif decision := self._join(parts[-1][-1], unit):
                decisions[decision] += 1
                parts[-1][-1].add(unit)
            else:
                parts[-1].append(unit)
        for part in parts:
            decisions["smoothed"] += self._smooth(part)
        return Combination(parts, decisions)

    def _join(self, group: Group, unit: Group) -> str:
        """Return why `unit` joins `group`; nothing where it opens a group of its own."""
        total = group.tokens + unit.tokens
        if total > self.max_tokens:
            return ""
        if unit.tokens < self.micro_tokens:
            return "absorbed"
        if total <= self.target_max:
            return "merged"
        expected = group.sections[-1].title.endswith(":")
        return "attached" if expected or ATTACHED.search(unit.sections[0].title) else ""

    def _smooth(self, part: list[Group]) -> bool:
        """Join a small last group to the one before it."""
        if len(part) < 2 or part[-1].tokens >= self.target_min:
            return False
        if part[-2].tokens + part[-1].tokens > self.max_tokens:
            return False
        part[-2].add(part.pop())
        return True


def is_hard_break(section: Section) -> bool:
    """Say whether no chunk may reach over the beginning of `section`."""
    return section.level in (1, 2) or SPECIAL.match(split_title(section.title)) is not None
