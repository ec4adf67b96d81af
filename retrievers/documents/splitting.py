"""Cutting a span of a document to size, at the best places."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter

from assay.retrievers.documents.structure.blocks import NOTES, WHOLE, Block
from assay.retrievers.documents.structure.sentences import sentence_ends
from assay.retrievers.documents.structure.structure import Structure
from assay.retrievers.documents.tokens import TokenMap

_BLANK_LINES = re.compile(r"\n(?:[ \t]*\r?\n)+")
_WORD = re.compile(r"(?<!\s)\s+(?=\S)")
_LINE = re.compile(r"\r\n|\n|\r")

Span = tuple[int, int]


class BreakPoints:
    """The places where `begin` to `end` may be cut, by kind, each kind in order.

    No place lies within a code block or a table, except `lines`, which are for those too large
    to be kept whole, nor within a quote or an admonition that `fits`.
    """

    def __init__(
        self, structure: Structure, begin: int, end: int, fits: Callable[[int, int], bool]
    ) -> None:
        self._structure = structure
        self._begin, self._end = begin, end
        blocks = structure.blocks
        first = bisect_left(blocks, begin, key=lambda block: block.start)
        last = bisect_left(blocks, end, key=lambda block: block.start)
        self._blocks = blocks[first:last]
        self._whole = list(_join(self._blocks, fits))

    @cached_property
    def blocks(self) -> Sequence[int]:
        """The places between paragraphs, lists, tables and the like."""
        starts = {block.start for block in self._blocks if block.depth == 0}
        text = self._structure.text
        starts |= {match.end() for match in _BLANK_LINES.finditer(text, self._begin, self._end)}
        return self._allowed(starts)

    @cached_property
    def items(self) -> Sequence[int]:
        """The places between the items of lists and the parts of quotes."""
        return self._allowed({block.start for block in self._blocks})

    @cached_property
    def sentences(self) -> Sequence[int]:
        """The places between sentences."""
        return self._allowed(set(sentence_ends(self._structure.text, self._begin, self._end)))

    @cached_property
    def words(self) -> Sequence[int]:
        """The places between words."""
        return self._allowed(self._matches(_WORD))

    def whole_at(self, place: int) -> Span | None:
        """Return the code block, table, quote or admonition that begins at `place` or holds it."""
        i = bisect_right(self._whole, place, key=itemgetter(0)) - 1
        return self._whole[i] if i >= 0 and place < self._whole[i][1] else None

    @cached_property
    def lines(self) -> Sequence[int]:
        """The places between lines, within any block too."""
        return sorted(self._matches(_LINE))

    @cached_property
    def loose_words(self) -> Sequence[int]:
        """The places between words, within any block too."""
        return sorted(self._matches(_WORD))

    def _matches(self, pattern: re.Pattern[str]) -> set[int]:
        found = pattern.finditer(self._structure.text, self._begin, self._end)
        return {match.end() for match in found}

    def _allowed(self, places: set[int]) -> Sequence[int]:
        return [
            place
            for place in sorted(places)
            if self._begin < place < self._end and not self._is_inside(place)
        ]

    def _is_inside(self, place: int) -> bool:
        whole = self.whole_at(place)
        return whole is not None and whole[0] < place


class Splitter:
    """A splitter of spans of one document into pieces of at most `limit` tokens.

    A piece ends at the coarsest kind of place that fills it at least half: between blocks, items,
    sentences or words; with `words_only`, between any words. Each but the first begins with at most
    `overlap` tokens of the one before, from the beginning of a sentence if one is in reach.
    A code block, a table, a quote or an admonition of at most `whole` tokens (by default the
    limit) is a separate piece if it is over the limit.
    """

    def __init__(
        self,
        structure: Structure,
        tokens: TokenMap,
        limit: int,
        overlap: int = 0,
        words_only: bool = False,
        whole: int | None = None,
    ) -> None:
        self._structure = structure
        self._tokens = tokens
        self._limit = limit
        self._overlap = overlap
        self._words_only = words_only
        self._most_whole = whole or limit

    def fits(self, begin: int, end: int) -> bool:
        """Return True if `begin` to `end` is small enough as it is."""
        estimate = self._tokens.estimate(begin, end)
        return estimate <= self._limit and self._tokens.count(begin, end) <= self._limit

    def cut(self, begin: int, end: int) -> Iterator[Span]:
        """Yield pieces in order which, overlaps apart, are `begin` to `end`."""
        if begin >= end or self.fits(begin, end):
            yield from [(begin, end)] if begin < end else []
            return
        places = BreakPoints(self._structure, begin, end, self._stays_whole)
        start = core = begin
        while core < end:
            stop = self._stop(places, start, core, end)
            if stop is None:  # the overlap leaves no room
                start = core
                stop = self._stop(places, core, core, end) or core + 1
            yield start, stop
            start, core = self._step_back(places, core, stop), stop

    def _stays_whole(self, begin: int, end: int) -> bool:
        return self._tokens.count(begin, end) <= self._most_whole

    def _stop(self, places: BreakPoints, start: int, core: int, end: int) -> int | None:
        """Return the best place after `core` to end a piece that begins at `start`.

        None is returned if a piece with an overlap would end within a block.
        """
        if self.fits(start, end):
            return end
        reach = min(self._tokens.reach(start, self._limit), end)
        levels = [places.blocks, places.items, places.sentences, places.words]
        if self._words_only:
            levels = [places.loose_words]
        lasts = [self._last(level, start, core, reach) for level in levels]
        furthest = max((last for last in lasts if last), default=0)
        for last in lasts:
            if last and 2 * (last - start) >= furthest - start:
                return last
        if start < core:
            return None
        # A code block, a table, a quote or a word over the limit.
        whole = places.whole_at(core)
        if whole and self._limit < self._most_whole and self._stays_whole(core, whole[1]):
            return min(whole[1], end)
        for level in (places.lines, places.loose_words, range(core + 1, reach + 1)):
            if last := self._last(level, start, core, reach):
                return last
        return None

    def _last(self, places: Sequence[int], start: int, core: int, reach: int) -> int | None:
        """Return the last of `places` in (core, reach] up to which the piece is small enough."""
        low, high = bisect_right(places, core), bisect_right(places, reach)
        if low == high:
            return None
        if self._tokens.count(start, places[high - 1]) <= self._limit:
            return places[high - 1]
        first, high = low, high - 1
        while low < high:
            middle = (low + high) // 2
            if self._tokens.count(start, places[middle]) <= self._limit:
                low = middle + 1
            else:
                high = middle
        return places[low - 1] if low > first else None

    def _step_back(self, places: BreakPoints, core: int, stop: int) -> int:
        """Return the beginning of the piece after one that ends at `stop`."""
        if not self._overlap:
            return stop
        earliest = max(self._tokens.back(stop, self._overlap), core)
        levels = [places.loose_words]
        if not self._words_only:
            levels = [places.sentences, places.words]
        for level in levels:
            i = bisect_left(level, earliest)
            if i < len(level) and level[i] < stop:
                return level[i]
        return stop


def _join(blocks: Sequence[Block], fits: Callable[[int, int], bool]) -> Iterator[Span]:
    """Yield the spans that are not cut in order, without those within others."""
    end = -1
    for block in blocks:
        whole = block.kind in WHOLE and block.start >= end
        if whole and (block.kind not in NOTES or fits(block.start, block.end)):
            yield block.start, block.end
            end = block.end
