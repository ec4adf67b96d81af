"""Small sections combined to a target size, within limits set by their meaning."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from assay.retrievers.documents.chunkers.base import Chunker, Piece, gather_bare
from assay.retrievers.documents.chunkers.combining import Combination, Combiner
from assay.retrievers.documents.splitting import Span, Splitter
from assay.retrievers.documents.structure.structure import Structure
from assay.retrievers.documents.tokens import TokenMap


class CombineSplitChunker(Chunker):
    """Sections combined to a target size; what is over it is split.

    Without `split_to_target` only text without headings, or with those of the first level alone, is
    split to the target, as nothing else would bound it; what is under others stays whole up to the
    maximum.
    """

    type: Literal["combine_split"]
    target_min: int = Field(800, ge=1, description="a smaller remainder joins the chunk before")
    target_max: int = Field(1500, ge=16, description="sections are combined up to so many tokens")
    micro_tokens: int = Field(
        120, ge=0, description="a section below is absorbed even if the target is exceeded by it"
    )
    respect_h2: bool = Field(True, description="no chunk reaches over a heading of level 1 or 2")
    respect_h3: bool = Field(False, description="nor over one of level 3; implies respect_h2")
    absorb_across: bool = Field(
        False,
        description="a part of less than micro_tokens joins the one before or after it over such "
        "a heading, but for FAQ, glossary, warnings and the like",
    )
    split_to_target: bool = Field(
        True,
        description="whatever is over the target is split to it, not only text without headings",
    )
    max_tokens: int = Field(7900, ge=16, description="largest chunk, in tokens; larger ones split")
    overlap_tokens: int = Field(100, ge=0, description="tokens a split repeats of the one before")

    @model_validator(mode="after")
    def _fits(self) -> "CombineSplitChunker":
        if not self.target_min <= self.target_max <= self.max_tokens:
            raise ValueError("target_min, target_max and max_tokens must not fall in this order")
        if 2 * self.overlap_tokens > self.target_max:
            raise ValueError("overlap_tokens: at most half of target_max")
        return self

    @property
    def limit(self) -> int | None:
        """The absolute maximum, not the target."""
        return self.max_tokens

    @property
    def target(self) -> int | None:
        """The size up to which sections are combined, in tokens."""
        return self.target_max

    @property
    def overlap(self) -> int:
        """The overlap, in tokens, of the pieces of a split section."""
        return self.overlap_tokens

    def scope(self, structure: Structure, offset: int) -> tuple[int, int]:
        """Return the part that holds `offset`: all text between two hard breaks.

        If small parts are absorbed, only special sections bound it. A bare
        heading above a break, once it has a text, may belong to the part before.
        """
        combiner = self._combiner()
        bounds = combiner.is_special if self.absorb_across else combiner.is_break
        units = [
            (unit[0].start, next(section.start for section in unit if bounds(section)))
            for unit in gather_bare(structure, combiner.is_break)
            if any(map(bounds, unit))
        ]
        last = bisect_right(units, (offset, len(structure.text)))
        first = last - 1 if last and offset < units[last - 1][1] else last
        ends = [structure.frontmatter.end, *(begin for begin, _ in units), len(structure.text)]
        return ends[first], ends[last + 1]

    def split(self, structure: Structure, tokens: TokenMap) -> Iterator[Piece]:
        """Yield the groups, cut if they are too long."""
        largest = Splitter(structure, tokens, self.max_tokens, self.overlap_tokens)
        most = self.target_max + self.micro_tokens
        for part in self.combine(structure, tokens).parts:
            for group in part:
                if group.long or (self.split_to_target and group.tokens > most):
                    spans = self._cut_to_target(structure, tokens, group.span)
                else:
                    spans = list(largest.cut(*group.span))
                for span in spans:
                    yield Piece(*span)

    def combine(self, structure: Structure, tokens: TokenMap) -> Combination:
        """Return the sections of a document in groups, with the decisions that made them."""
        return self._combiner().combine(structure, tokens)

    def _combiner(self) -> Combiner:
        levels = 3 if self.respect_h3 else 2 if self.respect_h2 else 0
        return Combiner(
            target_min=self.target_min,
            target_max=self.target_max,
            micro_tokens=self.micro_tokens,
            max_tokens=self.max_tokens,
            break_levels=range(1, levels + 1),
            long_levels=range(7 if self.split_to_target else 2),
            absorb_across=self.absorb_across,
        )

    def _cut_to_target(self, structure: Structure, tokens: TokenMap, span: Span) -> list[Span]:
        """Return `span` in pieces up to the target; even out a small last piece."""

        def cut(limit: int, begin: int, end: int) -> list[Span]:
            cutter = Splitter(structure, tokens, limit, self.overlap_tokens, whole=self.max_tokens)
            return list(cutter.cut(begin, end))

        spans = cut(self.target_max, *span)
        if len(spans) > 1 and tokens.estimate(*spans[-1]) < self.target_min:
            begin = spans[-2][0]
            half = tokens.estimate(begin, span[1]) // 2 + self.overlap_tokens
            evened = cut(min(half + half // 8, self.target_max), begin, span[1])
            if len(evened) == 2:
                spans[-2:] = evened
        return spans
