"""What else than its stated formula could make an engine return what it returns.

Each alternative changes one thing: the origin of ranks, a constant, a list. Where a number can be
read off the scores that came back, it is, instead of trying many.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from statistics import median
from typing import Any, Literal

from assay.retrievers.engines.base import Engine, EngineLists, LegDepths
from assay.retrievers.engines.formulas import (
    NORMALISATIONS,
    DeviationScores,
    Formula,
    ReciprocalRanks,
    ScaledScores,
    SummedScores,
)
from assay.retrievers.engines.parity.ties import settle_ties
from assay.retrievers.fusion.ranking import Scored, best
from assay.retrievers.models.base import Vectors

Family = Literal[
    "stated",
    "rank origin",
    "k",
    "weights",
    "depth",
    "normalisation",
    "approximate search",
    "analyzer",
]
DEEPER = 4  # times as deep as the engine is told to look
DEEPEST = 1000
DEPTHS = 3  # tried for each list
# What arithmetic in 32 bits leaves of nothing.
NOTHING = 1e-5


class Observation:
    """One query to an engine: its two lists fetched apart, and what `hybrid` returned.

    `vectors` are those indexed. Lists that only some alternatives need are fetched when asked for.
    """

    def __init__(self, engine: Engine, text: str, vector: Vectors, vectors: Vectors) -> None:
        self._engine = engine
        self._text = text
        self._vector = vector
        self._vectors = vectors
        self.depth = engine.depth
        self.lists = engine.lists(text, vector)
        self.limit = min(DEEPER * (self.depth.dense + self.depth.keyword), len(vectors))
        self.returned = engine.hybrid(text, vector, self.limit)

    @cached_property
    def deeper(self) -> EngineLists:
        """Both lists, each several times as deep as it enters fusion."""
        return EngineLists(
            self._engine.dense(self._vector, self._deepen(self.depth.dense)),
            self._engine.keyword(self._text, self._deepen(self.depth.keyword)),
        )

    @cached_property
    def exact(self) -> list[Scored]:
        """The dense list that comparing with every vector gives, several times as deep too."""
        # A graph that is not connected returns fewer texts than it was asked for.
        return list(best(self._vectors @ self._vector, self._deepen(self.depth.dense)))

    def _deepen(self, depth: int) -> int:
        return min(max(DEEPER * depth, DEEPEST), len(self._vectors))


@dataclass(frozen=True, slots=True)
class Formulation:
    """A formula, and which lists of an observation it is given; `label` says what it changes.

    `deeper` gives what else could be in these lists, where texts are as good as the last. A list
    that is `inferred` from what was returned explains more than one that is there.
    """

    family: Family
    label: str
    formula: Formula
    lists: Callable[[Observation], EngineLists]
    deeper: Callable[[Observation], EngineLists] = attrgetter("deeper")
    inferred: bool = False

    def limit(self, seen: Observation) -> int:
        """Return how many fused texts can have been returned."""
        most = self.formula.most
        return seen.limit if most is None else min(seen.limit, most)

    def fuse(self, seen: Observation) -> list[Scored]:
        """Return the fused list, whole: a text beyond the limit may be as good as one within."""
        return self.formula.fuse_whole(*self.lists(seen))

    def settle(self, seen: Observation) -> list[Scored]:
        """Return the fused list, equal scores within each list ordered as what was returned."""
        return self.formula.fuse_whole(
            *settle_ties(self.formula, self.lists(seen), self.deeper(seen), seen.returned)
        )


_STATED: Callable[[Observation], EngineLists] = attrgetter("lists")


def state(formula: Formula) -> Formulation:
    """Return an engine's own formula on its own lists."""
    return Formulation("stated", formula.statement, formula, _STATED)


def list_alternatives(
    formula: Formula, depth: LegDepths, seen: Sequence[Observation]
) -> Iterator[Formulation]:
    """Yield what could hold in place of `formula` on the lists to `depth`, the plainest first.

    All that was `seen` of the engine tells the numbers to try.
    """
    yield from _vary_ranks(formula, seen)
    yield from _vary_weights(formula)
    yield from _vary_depth(formula, depth, seen)
    yield from _vary_normalisation(formula)
    yield Formulation(
        "approximate search",
        "the dense list of exact search",
        formula,
        lambda item: EngineLists(item.exact[: depth.dense], item.lists.keyword),
        lambda item: item.deeper._replace(dense=item.exact),
    )
    yield Formulation(
        "approximate search",
        "a dense list inside that is not the one fetched apart",
        formula,
        lambda item: item.lists._replace(dense=_infer(formula, item, "dense")),
        inferred=True,
    )
    yield Formulation(
        "analyzer",
        "a keyword list inside that is not the one fetched apart",
        formula,
        lambda item: item.lists._replace(keyword=_infer(formula, item, "keyword")),
        inferred=True,
    )


def _vary_ranks(formula: Formula, seen: Sequence[Observation]) -> Iterator[Formulation]:
    if not isinstance(formula, ReciprocalRanks):
        return
    other: Literal[0, 1] = 0 if formula.first else 1
    varied = replace(formula, first=other)
    yield Formulation("rank origin", f"ranks from {other}, not {formula.first}", varied, _STATED)
    k = _read_k(formula, seen)
    if k is not None and k != formula.k:
        label = f"k = {k:g}, not {formula.k:g}"
        yield Formulation("k", label, replace(formula, k=k), _STATED)


def _read_k(formula: ReciprocalRanks, seen: Sequence[Observation]) -> float | None:
    """Return the constant that the scores of texts in one list only tell."""
    found = []
    for item in seen:
        returned = dict(item.returned)
        listed = Counter(position for side in item.lists for position, _ in side)
        for side, weight in zip(item.lists, formula.weights, strict=True):
            for rank, (position, _) in enumerate(side, start=1):
                score = returned.get(position, 0.0)
                if listed[position] > 1 or score <= 0 or not weight:
                    continue
                own = rank / weight if formula.weigh == "ranks" else rank
                share = 1.0 if formula.weigh == "ranks" else weight
                found.append(share / score - own - formula.first + 1)
    if not found:
        return None
    k = median(found)
    k = round(k) if abs(k - round(k)) < 0.01 else round(k, 3)
    return k if k >= 0 else None


def _vary_weights(formula: Formula) -> Iterator[Formulation]:
    dense, keyword = getattr(formula, "weights", (1.0, 1.0))
    if dense == keyword:
        return
    weighted: Any = formula
    swapped = replace(weighted, weights=(keyword, dense))
    yield Formulation("weights", "weights swapped", swapped, _STATED)
    for equal in (1.0, 0.5):
        same = replace(weighted, weights=(equal, equal))
        yield Formulation("weights", f"weights ignored: {equal:g} each", same, _STATED)


def _vary_depth(
    formula: Formula, depth: LegDepths, seen: Sequence[Observation]
) -> Iterator[Formulation]:
    told = depth.dense, depth.keyword
    dense, keyword = (_read_depths(seen, side) for side in (0, 1))
    wanted = [
        *((i, told[1]) for i in dense),
        *((told[0], i) for i in keyword),
        *zip(dense[:1], keyword[:1], strict=False),
    ]
    for depths in dict.fromkeys(wanted):
        names = zip(("dense", "keyword"), depths, told, strict=True)
        label = ", ".join(
            f"{name} depth {new}, not {old}" for name, new, old in names if new != old
        )
        if label:
            yield Formulation("depth", label, formula, _cut_at(depths))


def _cut_at(depths: tuple[int, int]) -> Callable[[Observation], EngineLists]:
    return lambda seen: EngineLists(
        *(side[:i] for side, i in zip(seen.deeper, depths, strict=True))
    )


def _read_depths(seen: Sequence[Observation], side: int) -> list[int]:
    """Return how deep a list may enter fusion, the likeliest first.

    That is where the first of its texts does not come back; ties, and texts that come back for the
    other list's sake, move it. Lists that come back whole tell nothing.
    """
    ends: Counter[int] = Counter()
    for item in seen:
        returned = {position for position, _ in item.returned}
        listed = item.deeper[side]
        missing = (i for i, (position, _) in enumerate(listed) if position not in returned)
        if end := next(missing, 0):
            ends[end] += 1
    return [end for end, _ in ends.most_common(DEPTHS)]


def _vary_normalisation(formula: Formula) -> Iterator[Formulation]:
    own = {ScaledScores: "min-max", DeviationScores: "dbsf"}.get(type(formula), "")
    weights: tuple[float, float] = getattr(formula, "weights", (1.0, 1.0))
    total = sum(weights) or 1.0
    shares = (weights[0] / total, weights[1] / total)
    for name in NORMALISATIONS:
        for given in dict.fromkeys((weights, shares)):
            if name != own:
                varied = SummedScores(name, given)
                yield Formulation("normalisation", varied.statement, varied, _STATED)
    if not isinstance(formula, ReciprocalRanks):
        ranks = ReciprocalRanks(60)
        yield Formulation("normalisation", ranks.statement, ranks, _STATED)


def _infer(formula: Formula, seen: Observation, side: Literal["dense", "keyword"]) -> list[Scored]:
    """Return the list that, fused with the other one, comes nearest to what was returned.

    It is what the other list leaves of each score; fused anew, it gives the same scores only where
    what is left is what some list can give: ranks without a gap, or scores of the right scale.
    """
    lists = seen.lists._replace(**{side: []})
    known = dict(formula.fuse(*lists))
    left = [(position, score - known.get(position, 0.0)) for position, score in seen.returned]
    left.sort(key=lambda pair: -pair[1])
    found = [(position, score) for position, score in left if score > NOTHING]
    if isinstance(formula, ScaledScores):
        # The worst of a list that is scaled from 0 adds nothing; any text can stand for it.
        nothing = [(position, 0.0) for position, score in left if abs(score) <= NOTHING]
        found += [one for one in nothing if one[0] not in known] or nothing[:1]
    return found
