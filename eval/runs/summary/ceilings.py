"""What a perfect order of the candidates after each step would score: the room left above it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.eval.collections.collection import GoldItem
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.candidate_lists import LEG, Step, Trail
from assay.eval.runs.summary.means import estimate_scores
from assay.eval.scoring import measures
from assay.eval.scoring.join import JoinedHit
from assay.eval.statistics.estimates import Estimate

UNION = "all legs"


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What a perfect order of the candidates after a step would score.

    `candidates` is their mean number a query. "all legs" is the union of the legs: what a perfect
    fusion could reach.
    """

    step: str
    candidates: float
    measures: Mapping[str, Estimate]


def find_ceilings(
    run: StoredRun, trails: Sequence[Trail], names: Sequence[str], k: int
) -> tuple[Ceiling, ...]:
    """Return the ceilings of the steps `names`, and of the union of the legs after the last leg.

    Each is the mean of nDCG@k, Recall@k and Hit@1 over candidates in greedy order: for nDCG and
    Hit the best grade first, for recall the most items first. No order has a higher nDCG or
    Hit; recall may fall short of the best where chunks cover several items.
    """
    lists: dict[str, list[Mapping[str, int]]] = {}
    legs = {step.name for trail in trails for step in trail.steps if step.kind == LEG}
    for name in names:
        if len(legs) > 1 and name not in legs and UNION not in lists:
            lists[UNION] = [_unite(trail) for trail in trails]
        lists[name] = [_list(trail, name) for trail in trails]
    return tuple(_ceiling(run, name, trails, listed, k) for name, listed in lists.items())


def measure_reached(
    run: StoredRun, k: int, known: Mapping[str, Mapping[str, float]]
) -> dict[str, Estimate]:
    """Return what the run itself scores in the measures of a ceiling; some may be `known`."""
    names = [f"nDCG@{k}", f"Recall@{k}", "Hit@1"]
    missing = [name for name in names if name not in known]
    scores = {**known, **measures.score(missing, run.joined, run.gold)}
    return {name: estimate_scores(name, scores[name].values()) for name in names}


def _list(trail: Trail, name: str) -> Mapping[str, int]:
    return next((step.ranks for step in trail.steps if step.name == name), {})


def _unite(trail: Trail) -> dict[str, int]:
    legs: list[Step] = [step for step in trail.steps if step.kind == LEG]
    return {id_: rank for step in legs for id_, rank in step.ranks.items()}


def _ceiling(
    run: StoredRun, name: str, trails: Sequence[Trail], lists: Sequence[Mapping[str, int]], k: int
) -> Ceiling:
    graded: dict[str, list[JoinedHit]] = {}
    broad: dict[str, list[JoinedHit]] = {}
    for trail, listed in zip(trails, lists, strict=True):
        relevant = _relevant(trail, listed)
        graded[trail.query] = _order(trail, relevant, k, by_grade=True)
        broad[trail.query] = _order(trail, relevant, k, by_grade=False)
    scores = measures.score([f"nDCG@{k}", "Hit@1"], graded, run.gold)
    scores |= measures.score([f"Recall@{k}"], broad, run.gold)
    return Ceiling(
        step=name,
        candidates=sum(map(len, lists)) / len(lists),
        measures={
            measure: estimate_scores(measure, scores[measure].values())
            for measure in (f"nDCG@{k}", f"Recall@{k}", "Hit@1")
        },
    )


def _relevant(trail: Trail, listed: Mapping[str, int]) -> dict[str, list[GoldItem]]:
    """Return {chunk id: items it covers} for the chunks listed that cover any, by rank."""
    found: dict[str, list[GoldItem]] = {}
    for item in trail.items:
        for id_ in trail.covering[item.id] & listed.keys():
            found.setdefault(id_, []).append(item)
    return dict(sorted(found.items(), key=lambda pair: (listed[pair[0]], pair[0])))


def _order(
    trail: Trail, relevant: Mapping[str, list[GoldItem]], k: int, by_grade: bool
) -> list[JoinedHit]:
    """Return at most `k` chunks, always the one worth most beside those taken before."""
    left = {id_: sorted(items, key=lambda item: -item.grade) for id_, items in relevant.items()}
    hits: list[JoinedHit] = []
    while left and len(hits) < k:
        best = max(
            left,
            key=lambda id_: (0 if by_grade else len(left[id_]), left[id_][0].grade),
        )
        taken = left.pop(best)
        hits.append(JoinedHit(trail.chunks[best], tuple(taken), judged=True))
        fresh = {id_: [item for item in items if item not in taken] for id_, items in left.items()}
        left = {id_: items for id_, items in fresh.items() if items}
    return hits
