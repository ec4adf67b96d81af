"""Whether the comparison of two stored runs is decided, and the pairs that would decide it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.eval.runs.stored import StoredRun
from assay.eval.studies.judging.minimal_test_collections import (
    CONFIDENCE,
    GROUPS,
    OPEN,
    Ints,
    RunPair,
    bound,
    find_group,
    foretell,
    most_likely,
    order,
    score,
)
from assay.eval.studies.judging.pooling import JudgmentPool, OpenPair, collect, discount, list_open
from assay.retrievers.base import AssayError


@dataclass(frozen=True)
class Decision:
    """Where a comparison of the second run with the first stands.

    `difference` counts open pairs as not relevant, `low` and `high` are what it can come to.
    `verdict` is the one foretold most often, with `chance`. `pool` has the open pairs, those that
    decide soonest first.
    """

    measure: str
    difference: float
    low: float
    high: float
    verdict: str
    chance: float
    pool: JudgmentPool

    @property
    def is_decided(self) -> bool:
        """Whether the verdict is foretold with a chance of .95 or more."""
        return self.chance >= CONFIDENCE

    def as_json(self) -> dict[str, Any]:
        """Return where it stands as JSON values."""
        figures = ("measure", "difference", "low", "high", "verdict", "chance")
        return {name: getattr(self, name) for name in figures} | {"decided": self.is_decided}


def decide(runs: Sequence[StoredRun], depth: int) -> Decision:
    """Return where the comparison of two runs by nDCG at `depth` stands.

    Raises AssayError for another number of runs, and as `make_pool` does.
    """
    runs = list({run.manifest.id: run for run in runs}.values())
    if len(runs) != 2:
        raise AssayError(f"--decide: needs two runs to decide between, not {len(runs)}")
    found, overlapping = list_open(runs, depth)
    run_pair, grades = _set_up(runs, depth, found), np.full(len(found), OPEN)
    low, high = bound(run_pair, grades)
    verdict, chance = most_likely(foretell(run_pair, grades))
    pairs = [found[i].pair for i in order(run_pair, grades)]
    return Decision(
        measure=f"nDCG@{depth}",
        difference=float(score(run_pair, grades).mean()),
        low=low,
        high=high,
        verdict=verdict,
        chance=chance,
        pool=collect(runs, depth, pairs, overlapping),
    )


def _set_up(runs: Sequence[StoredRun], depth: int, found: Sequence[OpenPair]) -> RunPair:
    """Return the two runs over the pairs that are open, which are in its order."""
    queries = {query: number for number, query in enumerate(runs[0].queries)}
    given = {item.grade for items in runs[0].gold.values() for item in items if item.grade > 0}
    levels = np.array(sorted(given or {1}), dtype=np.int64)
    name = f"nDCG@{depth}"
    scores = [run.score([name])[name] for run in runs]
    relevant = np.zeros((len(levels), len(queries)), dtype=np.int64)
    for query, number in queries.items():
        for item in runs[0].gold[query]:
            relevant[levels <= item.grade, number] += 1
    run_pair = RunPair(
        cutoff=depth,
        query=np.array([queries[one.pair.query_id] for one in found], dtype=np.int64),
        weight=np.array([discount(one.ranks[1]) - discount(one.ranks[0]) for one in found]),
        rank=np.array([min(filter(None, one.ranks)) for one in found], dtype=np.int64),
        gap=np.zeros(len(queries)),
        relevant=relevant,
        levels=levels,
    )
    ideals = run_pair.sum_ideals(relevant)
    changes = np.array([scores[1][query] - scores[0][query] for query in queries])
    return replace(run_pair, gap=changes * ideals, before=_count_judged(runs, depth))


def _count_judged(runs: Sequence[StoredRun], depth: int) -> Ints:
    """Return how many of the first hits were judged, and proved relevant, by their group."""
    counts = np.zeros((2, GROUPS), dtype=np.int64)
    for query, items in runs[0].gold.items():
        relevant = sum(item.grade > 0 for item in items)
        ranks: dict[tuple[str, int, int], list[int]] = {}
        own: dict[tuple[str, int, int], int] = {}
        for side, run in enumerate(runs):
            for rank, hit in enumerate(run.joined[query][:depth], start=1):
                if hit.judged:
                    place = (hit.chunk.doc_id, hit.chunk.start, hit.chunk.end)
                    ranks.setdefault(place, [0, 0])[side] = rank
                    own[place] = max(own.get(place, 0), len(hit.found))
        for place, (first, second) in ranks.items():
            group = find_group(
                np.array(min(filter(None, (first, second)))),
                np.array(discount(second) - discount(first)),
                np.array(relevant > own[place]),
            )
            counts[:, int(group)] += (1, own[place] > 0)
    return counts
