"""Pooling: the pairs of query and passage that must be judged to compare runs on equal terms."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.eval.collections.authoring.worksheet import Pair
from assay.eval.runs.json_form import in_json, length, shape
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.comparability import check_comparable
from assay.eval.runs.summary.difference_bounds import (
    DifferenceBounds,
    Ideals,
    Scores,
    bound_differences,
)
from assay.eval.runs.summary.means import estimate_scores
from assay.eval.runs.summary.open_pairs import OpenPair, discount, list_open
from assay.eval.statistics.estimates import Estimate
from assay.retrievers.base import AssayError

# Strata of pairs by their best rank in any run: pairs of one are assumed equally often relevant.
STRATA = (1, 2, 3, 5, 10)
PRIOR = 2.0  # weight of the prior chance, in judgments

Group = tuple[int, int, bool]


@in_json(
    "overlapping",
    "measure",
    "bounds",
    pairs=length("pairs"),
    by_query="count_by_query",
    judged_before=shape("judged", "low", "high", "n", mean="value"),
)
@dataclass(frozen=True)
class JudgmentPool:
    """The pairs to judge, the most decisive first, and how much was judged before.

    Attributes:
        pairs: The pairs.
        judged: Judged@depth, by the id of a run.
        overlapping: The number of pairs that share half or more of the shorter passage with another
            passage of the same query.
        measure: The measure of `bounds`.
        bounds: For each pair of runs, the range that their difference in `measure` could take once
            the pairs are judged.
    """

    pairs: tuple[Pair, ...]
    judged: dict[str, Estimate]
    overlapping: int
    measure: str
    bounds: tuple[DifferenceBounds, ...]

    def count_by_query(self) -> dict[str, int]:
        """Return the number of pairs by query, without queries that have none."""
        counts: dict[str, int] = {}
        for pair in self.pairs:
            counts[pair.query_id] = counts.get(pair.query_id, 0) + 1
        return counts


def make_pool(runs: Sequence[StoredRun], depth: int = 10) -> JudgmentPool:
    """Return the unjudged pairs among the first `depth` hits of each query of any run.

    First come the pairs whose judgment is expected to change the difference between two runs most:
    the chance that a pair is relevant, estimated from similar judged pairs, times the change in the
    difference of the runs' nDCG if it is (Carterette, Allan, Sitaraman, "Minimal test collections
    for retrieval evaluation", SIGIR 2006). The pairs of a single run are sorted by rank. See
    `list_open` for the definition of a pair. Raises AssayError for runs that were not judged alike
    or are too shallow.
    """
    runs = list({run.manifest.id: run for run in runs}.values())
    for run in runs:
        check_comparable(runs[0], run)
        if run.manifest.depth < depth:
            raise AssayError(
                f"{run.manifest.id}: keeps {run.manifest.depth} hits a query; "
                f"allowed: a depth of 1 to {run.manifest.depth}, not {depth}"
            )
    found, overlapping = list_open(runs, depth)
    measure, share = f"nDCG@{depth}", f"Judged@{depth}"
    scored = [run.score([measure, share]) for run in runs]
    scores = [score[measure] for score in scored]
    return JudgmentPool(
        pairs=tuple(one.pair for one in _order(runs, scores, found, depth)),
        judged={
            run.manifest.id: estimate_scores(share, score[share].values())
            for run, score in zip(runs, scored, strict=True)
        },
        overlapping=overlapping,
        measure=measure,
        bounds=tuple(bound_differences(runs, scores, found, depth)),
    )


def _order(
    runs: Sequence[StoredRun], scores: Sequence[Scores], found: Sequence[OpenPair], depth: int
) -> list[OpenPair]:
    """Return the pairs, sorted by the expected change of the difference between two runs."""
    if len(runs) == 1:
        return sorted(found, key=lambda one: one.ranks)
    gold = runs[0].gold
    ideals = Ideals(gold, depth)
    chances = _find_chances(runs, depth)

    def expect(one: OpenPair) -> float:
        query = one.pair.query_id
        now, then = (ideals.steps @ ideals.find(query, 1)).tolist()
        changes: list[float] = [
            (score[query] * now + ideals.top * discount(rank)) / then - score[query]
            for score, rank in zip(scores, one.ranks, strict=True)
        ]
        is_known = any(item.grade > 0 for item in gold[query])
        return chances[_find_group(one.ranks, is_known)] * (max(changes) - min(changes))

    return sorted(found, key=lambda one: (-round(expect(one), 9), _find_best(one.ranks)))


class _Chances(dict[Group, float]):
    """The chances that a pair is relevant, by group; the prior chance if none is judged."""

    def __missing__(self, group: Group) -> float:
        return 1 / (1 + STRATA[group[0]])


def _find_group(ranks: Sequence[int], is_known: bool) -> Group:
    """Return the group of a pair; pairs of a group are assumed to be equally often relevant.

    It is the stratum of the best rank, the index of the only run with that rank (-1 if several have
    it), and True if another relevant text of the query is known.
    """
    best = _find_best(ranks)
    stratum = next((i for i, last in enumerate(STRATA[:-1]) if best <= last), len(STRATA) - 1)
    return stratum, ranks.index(best) if ranks.count(best) == 1 else -1, is_known


def _find_best(ranks: Sequence[int]) -> int:
    return min(filter(None, ranks), default=0)


def _find_chances(runs: Sequence[StoredRun], depth: int) -> _Chances:
    """Estimate the chances of relevance by group from the judged hits.

    A chance is the share of relevant hits of the group, with the prior chance, 1 / (1 + rank),
    counted as two judgments. If no hit was judged not relevant, the judged hits say nothing about
    the others, and the prior chances are returned.
    """
    judged: dict[Group, int] = {}
    relevant: dict[Group, int] = {}
    for query, items in runs[0].gold.items():
        known = sum(item.grade > 0 for item in items)
        ranks: dict[tuple[str, int, int], list[int]] = {}
        own: dict[tuple[str, int, int], int] = {}
        for i, run in enumerate(runs):
            for rank, hit in enumerate(run.joined[query][:depth], start=1):
                if hit.judged:
                    place = (hit.chunk.doc_id, hit.chunk.start, hit.chunk.end)
                    ranks.setdefault(place, [0] * len(runs))[i] = rank
                    own[place] = max(own.get(place, 0), len(hit.found))
        for place, found in ranks.items():
            group = _find_group(found, known > own[place])
            judged[group] = judged.get(group, 0) + 1
            relevant[group] = relevant.get(group, 0) + (own[place] > 0)
    chances = _Chances()
    if judged != relevant:
        for group, count in judged.items():
            believed = PRIOR * chances[group]
            chances[group] = (relevant[group] + believed) / (count + PRIOR)
    return chances
