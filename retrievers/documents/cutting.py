"""Cutting a span of a document to size, at the best places there are."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from retrievers.documents.blocks import WHOLE
from retrievers.documents.sentences import sentence_ends
from retrievers.documents.structure import Structure
from retrievers.documents.tokens import TokenMap

_BLANK_LINES = re.compile(r"\n(?:[ \t]*\r?\n)+")
_WORD = re.compile(r"(?<!\s)\s+(?=\S)")
_LINE = re.compile(r"\r\n|\n|\r")

Span = tuple[int, int]


class Places:
    """Where `begin` to `end` may be cut, by kind, each kind in order.

    No place lies within a code block or a table, except `lines`, which are for those too large
    to be kept whole.
    """

    def __init__(self, structure: Structure, begin: int, end: int) -> None:
        self._structure = structure
        self._begin, self._end = begin, end
        blocks = structure.blocks
        first = bisect_left(blocks, begin, key=lambda block: block.start)
        last = bisect_left(blocks, end, key=lambda block: block.start)
        self._blocks = blocks[first:last]
        self._whole = [(item.start, item.end) for item in self._blocks if item.kind in WHOLE]

    @cached_property
    def blocks(self) -> Sequence[int]:
        """Between paragraphs, lists, tables and the like."""
        starts = {block.start for block in self._blocks if block.depth == 0}
        text = self._structure.text
        starts |= {match.end() for match in _BLANK_LINES.finditer(text, self._begin, self._end)}
        return self._allowed(starts)

    @cached_property
    def items(self) -> Sequence[int]:
        """Between the items of lists and the parts of quotes."""
        return self._allowed({block.start for block in self._blocks})

    @cached_property
    def sentences(self) -> Sequence[int]:
        """Between sentences."""
        return self._allowed(set(sentence_ends(self._structure.text, self._begin, self._end)))

    @cached_property
    def words(self) -> Sequence[int]:
        """Between words."""
        return self._allowed(self._matches(_WORD))

    @cached_property
    def lines(self) -> Sequence[int]:
        """Between lines, wherever they are."""
        return sorted(self._matches(_LINE))

    @cached_property
    def loose_words(self) -> Sequence[int]:
        """Between words, wherever they are."""
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
        at = bisect_left(self._whole, (place, 0)) - 1
        return at >= 0 and place < self._whole[at][1]


class Cutter:
    """Cuts spans of one document into pieces of at most `limit` tokens.

    A piece ends at the coarsest kind of place that fills it at least half: between blocks, items,
    sentences or words; with `words_only`, between any words. Each but the first begins with at most
    `overlap` tokens of the one before, from the beginning of a sentence where one is in reach.
    """

    def __init__(
        self,
        structure: Structure,
        tokens: TokenMap,
        limit: int,
        overlap: int = 0,
        words_only: bool = False,
    ) -> None:
        self._structure = structure
        self._tokens = tokens
        self._limit = limit
        self._overlap = overlap
        self._words_only = words_only

    def fits(self, begin: int, end: int) -> bool:
        """Say whether `begin` to `end` is small enough as it is."""
        estimate = self._tokens.estimate(begin, end)
        return estimate <= self._limit and self._tokens.count(begin, end) <= self._limit

    def cut(self, begin: int, end: int) -> Iterator[Span]:
        """Yield pieces in order which, overlaps apart, are `begin` to `end`."""
        if begin >= end or self.fits(begin, end):
            yield from [(begin, end)] if begin < end else []
            return
        places = Places(self._structure, begin, end)
        start = core = begin
        while core < end:
            stop = self._stop(places, start, core, end)
            if stop is None:  # the overlap leaves no room
                start = core
                stop = self._stop(places, core, core, end) or core + 1
            yield start, stop
            start, core = self._step_back(places, core, stop), stop

    def _stop(self, places: Places, start: int, core: int, end: int) -> int | None:
        """Return the best place after `core` to end a piece that begins at `start`.

        Nothing is returned where a piece with an overlap would end within a block.
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
        # A code block, a table or a word over the limit.
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

    def _step_back(self, places: Places, core: int, stop: int) -> int:
        """Return where the piece after one that ends at `stop` begins."""
        if not self._overlap:
            return stop
        earliest = max(self._tokens.back(stop, self._overlap), core)
        levels = [places.loose_words]
        if not self._words_only:
            levels = [places.sentences, places.words]
        for level in levels:
            at = bisect_left(level, earliest)
            if at < len(level) and level[at] < stop:
                return level[at]
        return stop
