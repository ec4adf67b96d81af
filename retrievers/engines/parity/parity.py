"""The list that an engine's fusion returned, and the one its stated formula gives."""

from collections.abc import Iterable, Sequence
from itertools import groupby, product
from math import inf
from typing import NamedTuple

from assay.retrievers.engines.base import Engine, EngineLists
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

DEEPER = 4  # factor by which this looks deeper than the engine's settings
DEEPEST = 1000


class Observation:
    """One query to an engine of `texts` texts: its two lists, each fetched alone, and its fusion.

    `returned` are the fused texts, `limit` the most that it can have returned.
    """

    def __init__(self, engine: Engine, text: str, vector: Vectors, texts: int) -> None:
        self._engine = engine
        self._text = text
        self._vector = vector
        self._texts = texts
        self._formula = engine.formula
        self.lists = engine.lists(text, vector)
        asked = min(DEEPER * (engine.depth.dense + engine.depth.keyword), texts)
        self.returned = engine.hybrid(text, vector, asked)
        most = self._formula.most
        self.limit = asked if most is None else min(asked, most)

    def fuse(self) -> list[Scored]:
        """Return the fused list, whole: a text beyond the limit may be as good as one within."""
        return self._formula.fuse_whole(*self.lists)

    def settle(self) -> list[Scored]:
        """Return the fused list, with equal scores within each list ordered as in `returned`.

        Texts that tie with the last of a list are fetched from the engine by deeper searches.
        """
        deeper = EngineLists(
            self._engine.dense(self._vector, self._deepen(self._engine.depth.dense)),
            self._engine.keyword(self._text, self._deepen(self._engine.depth.keyword)),
        )
        settled = settle_ties(self._formula, self.lists, deeper, self.returned)
        return self._formula.fuse_whole(*settled)

    def _deepen(self, depth: int) -> int:
        return min(max(DEEPER * depth, DEEPEST), self._texts)


# Relative difference up to which scores of a list are equal: that of 32 bits, and some.
EQUAL = 1e-6


def settle_ties(
    formula: Formula, lists: EngineLists, deeper: EngineLists, returned: Sequence[Scored]
) -> EngineLists:
    """Return `lists` with equal scores in the order that the scores `returned` imply.

    Texts as good as the last of a list compete for its place; they are found in `deeper`.
    """
    sides = (
        _Slots(lists.dense, deeper.dense, formula.fuse_whole(lists.dense, [])),
        _Slots(lists.keyword, deeper.keyword, formula.fuse_whole([], lists.keyword)),
    )
    scores = dict(returned)
    cut = formula.most is not None and len(returned) >= formula.most
    least = min(scores.values(), default=0.0) if cut else 0.0
    texts = dict.fromkeys(position for side in sides for position in side.groups)
    # What came back first, as a cut says little of what did not, and those with least choice.
    for position in sorted(
        texts, key=lambda i: (cut and i not in scores, sum(side.count(i) for side in sides))
    ):
        score = scores.get(position)
        pairs = product(*(side.free(position) for side in sides))
        chosen = min(pairs, key=lambda pair: _miss(pair, score, least))
        for side, slot in zip(sides, chosen, strict=True):
            side.take(position, slot)
    return EngineLists(*(side.fill() for side in sides))


class _Slot(NamedTuple):
    """A place in a list, and what a text there adds; -1 is out of the list, and adds nothing."""

    at: int
    added: float


_OUT = _Slot(-1, 0.0)


def _miss(pair: Sequence[_Slot], score: float | None, least: float) -> float:
    """Return by how much a text in two slots misses the score it came back with, if it did.

    One that did not may have any score up to the `least` of an answer that was cut.
    """
    listed, added = any(slot.at >= 0 for slot in pair), sum(slot.added for slot in pair)
    if score is None:
        return max(added - least, 0.0) if least or not listed else inf
    return abs(added - score) if listed else inf


class _Slots:
    """The places of one list, each open to all texts of the same score."""

    def __init__(
        self, listed: Sequence[Scored], deeper: Sequence[Scored], alone: Iterable[Scored]
    ) -> None:
        added = dict(alone)
        whole = _extend(listed, deeper)
        self._listed, end = whole, len(listed)
        self._taken: dict[int, int] = {}
        self.groups: dict[int, list[_Slot]] = {}
        for _, members in groupby(enumerate(_number(whole)), key=lambda item: item[1]):
            places = [i for i, _ in members]
            group = [_Slot(i, added.get(whole[i][0], 0.0)) if i < end else _OUT for i in places]
            self.groups |= {whole[i][0]: group for i in places}

    def count(self, position: int) -> int:
        """Return how many slots a text may still take."""
        return len(self.groups.get(position, ()))

    def free(self, position: int) -> list[_Slot]:
        """Return the slots that a text may still take."""
        return self.groups.get(position, [_OUT])

    def take(self, position: int, slot: _Slot) -> None:
        """Give a text its slot."""
        if position in self.groups:
            self._taken[position] = slot.at
            self.groups[position].remove(slot)

    def fill(self) -> list[Scored]:
        """Return the list in the order that was settled."""
        placed = sorted((i, position) for position, i in self._taken.items() if i >= 0)
        scores = dict(self._listed)
        return [(position, scores[position]) for _, position in placed]


def _extend(listed: Sequence[Scored], deeper: Sequence[Scored]) -> list[Scored]:
    """Return a list with what is found deeper, scores as high as its last, and is not in it."""
    if not listed:
        return []
    known, last = {position for position, _ in listed}, listed[-1][1]
    return [*listed, *(one for one in deeper if one[0] not in known and _equal(one[1], last))]


def _number(listed: Sequence[Scored]) -> list[int]:
    """Return for each item the number of its group of equal scores."""
    numbers: list[int] = []
    for i, (_, score) in enumerate(listed):
        same = i > 0 and _equal(listed[i - 1][1], score)
        numbers.append(numbers[-1] + (not same) if numbers else 0)
    return numbers


def _equal(one: float, other: float) -> bool:
    return abs(one - other) <= EQUAL * max(abs(one), abs(other), EQUAL)
