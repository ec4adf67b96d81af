"""Miss analysis: at which step of a run each gold item was lost, or that it was found.

Computed from a stored run alone: the lists of its trace, and the ranks of gold items.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from assay.eval.collections.collection import GoldItem
from assay.eval.runs.gold_ranks import GoldRank, best_rank
from assay.eval.runs.json_form import by, in_json
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.candidate_lists import (
    FINAL,
    FUSION,
    LEG,
    STAGE,
    Step,
    Trail,
    follow,
)
from assay.eval.runs.summary.ceilings import Ceiling, CeilingFinder, measure_reached
from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.estimates import Estimate

# From the answer in its place to the answer nowhere; {k} is the cutoff.
MEANINGS = {
    "found": "in the first {k}",
    "ranked too low": "retrieved, but at no step within the first {k}",
    "demoted": "a stage moved it out of the first {k}, and no later stage moved it back",
    "filtered": "a stage removed it",
    "lost in fusion": "in the first {k} of a leg, not in the first {k} of the fused list",
    "not retrieved": "never retrieved; the leg named comes closest",
    "in no leg": "no leg finds it at any depth",
    "in no chunk": "no chunk covers half of it",
    "not returned": "in no list; the retriever reports no more",
}
STATUSES = tuple(MEANINGS)
NOTHING: Mapping[str, Mapping[str, float]] = {}


@in_json(
    "status", "where", "ranks", "deeper", item="item.id", document="item.doc_id", grade="item.grade"
)
@dataclass(frozen=True, slots=True)
class ItemStatus:
    """The status of one relevant gold item of one query: found, or lost at some step.

    `where` is the stage that filtered or demoted it, or the legs that would find it deeper, with
    their ranks. `ranks` is {step: rank of the first chunk there that covers the item}, None if
    none does. `deeper` is the rank at which a leg that did not hand it on would list it.
    """

    item: GoldItem
    status: str
    where: str
    ranks: Mapping[str, int | None]
    deeper: Mapping[str, int] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The status in words."""
        if self.status == "found":
            return f"found at rank {self.ranks[FINAL]}"
        if self.status == "ranked too low" and self.ranks[FINAL]:
            return f"ranked too low: at rank {self.ranks[FINAL]}"
        if self.status in ("demoted", "filtered"):
            return f"{self.status} by {self.where}"
        return f"{self.status}: {self.where}" if self.where else self.status

    @property
    def trail(self) -> str:
        """Each step with the item's rank there, a dash where its list has none."""
        return " · ".join(
            f"{step} {rank or '–'}"
            + (f" (deeper: {self.deeper[step]:,})" if step in self.deeper else "")
            for step, rank in self.ranks.items()
        )


def count_items(found: Mapping[str, Sequence[ItemStatus]]) -> int:
    """Return the number of gold items of all queries."""
    return sum(map(len, found.values()))


@in_json(
    "k",
    "steps",
    "by_type",
    "ceilings",
    "reached",
    items=by(count_items, "items"),
    totals="totals",
    causes="known_causes",
)
@dataclass(frozen=True)
class Attribution:
    """The statuses of all relevant gold items of a run, and the ceiling of each step.

    `items` and `types` (of queries) are by query id; `reached` has the run's own scores in the
    measures of the ceilings.
    """

    k: int
    steps: tuple[str, ...]
    items: Mapping[str, tuple[ItemStatus, ...]]
    ceilings: tuple[Ceiling, ...]
    reached: Mapping[str, Estimate]
    types: Mapping[str, str]

    @cached_property
    def statuses(self) -> Mapping[str, Mapping[str, str]]:
        """The statuses by query id and the id of the gold item."""
        return {
            query: {item.item.id: item.status for item in items}
            for query, items in self.items.items()
        }

    def totals(self, type: str = "") -> Mapping[str, int]:  # noqa: A002
        """Return {status: gold items} for every status, of all queries or of those of one type."""
        counted = Counter(item.status for item in self._of(type))
        return {status: counted[status] for status in STATUSES}

    def causes(self, status: str) -> Mapping[str, int]:
        """Return {stage that filtered or demoted items, or leg nearest to them: gold items}."""
        items = [item for item in self._of("") if item.status == status and item.where]
        if status == "not retrieved":
            return Counter(min(item.deeper, key=item.deeper.__getitem__) for item in items)
        return Counter(item.where for item in items)

    @property
    def by_type(self) -> Mapping[str, Mapping[str, int]]:
        """The totals of each type of query; empty where queries have no types."""
        return {kind: self.totals(kind) for kind in sorted(set(self.types.values()) - {""})}

    @property
    def known_causes(self) -> Mapping[str, Mapping[str, int]]:
        """The causes of each status that has any."""
        return {status: found for status in STATUSES if (found := self.causes(status))}

    def _of(self, kind: str) -> Iterator[ItemStatus]:
        for query, items in self.items.items():
            if not kind or self.types[query] == kind:
                yield from items


def attribute(
    run: StoredRun, k: int = 10, known: Mapping[str, Mapping[str, float]] = NOTHING
) -> Attribution:
    """Return the step at which each relevant gold item of `run` was lost to the first `k` hits.

    An item is found if the join of the final hits counts it: at the first hit that covers it,
    within `k`. An item that is not found is attributed to the step that last took it out of the
    first `k`; an item that never was there, to the stage that took it out of the list, if one did.
    Ranks are those of covering chunks, since a stage may replace a chunk by another. Scores of the
    run that are `known`, {measure: {query id: score}}, are not computed again.
    """
    depth = run.manifest.depth
    ceilings = CeilingFinder(k)
    items = {}
    for trail in follow(run):
        ceilings.add(trail)
        items[trail.query] = tuple(
            _trace(item, trail, run.gold_ranks.get(trail.query, {}).get(item.id), k, depth)
            for item in trail.items
        )
    return Attribution(
        k=k,
        steps=ceilings.steps,
        items=items,
        ceilings=ceilings.find(run.gold, Claims.of(run)),
        reached=measure_reached(run, k, known),
        types={query.id: query.type for query in run.queries.values()},
    )


def _trace(
    item: GoldItem, trail: Trail, gold_rank: GoldRank | None, k: int, depth: int
) -> ItemStatus:
    ranks = {step.name: best_rank(step.ranks, trail.covering[item.id]) for step in trail.steps}
    probed = gold_rank.deeper if gold_rank else {}
    deeper = {leg: rank for leg, rank in probed.items() if rank and ranks.get(leg) is None}
    if _within(ranks[FINAL], k):
        status, where = "found", ""
    elif any(ranks.values()):
        status, where = _explain_loss(trail.steps, ranks, k, depth)
    else:
        status, where = _explain_absence(gold_rank, deeper)
    return ItemStatus(item, status, where, ranks, deeper)


def _explain_absence(gold_rank: GoldRank | None, deeper: Mapping[str, int]) -> tuple[str, str]:
    """Return status and place of an item that is in no list of the run."""
    if gold_rank and not gold_rank.covered:
        return "in no chunk", ""
    if not gold_rank or not gold_rank.deeper:
        return "not returned", ""
    nearest = sorted(deeper, key=lambda leg: (deeper[leg], leg))
    where = ", ".join(f"{leg} at rank {deeper[leg]}" for leg in nearest)
    return ("not retrieved", where) if where else ("in no leg", "")


def _explain_loss(
    steps: Sequence[Step], ranks: Mapping[str, int | None], k: int, depth: int
) -> tuple[str, str]:
    """Return status and place of an item that some list holds, but not the first `k` hits."""
    legs = [step for step in steps if step.kind == LEG]
    line = [step for step in steps if step.kind != LEG]
    before = min((rank for leg in legs if (rank := ranks[leg.name])), default=None)
    moved, gone = None, None
    for i, step in enumerate(line):
        rank = ranks[step.name]
        # Several legs become one list in whatever step comes first.
        merges = step.kind == FUSION or (i == 0 and len(legs) > 1)
        if _within(before, k) and not _within(rank, k):
            moved = ("lost in fusion", "") if merges else _blame(step, before, rank, depth)
        if before and not rank and not merges:
            gone = _blame(step, before, rank, depth)
        before = rank
    return moved or gone or ("ranked too low", "")


def _blame(step: Step, before: int | None, rank: int | None, depth: int) -> tuple[str, str]:
    """Return status and place of an item that `step` moved from rank `before` to `rank`."""
    cut = step.kind != STAGE and before and before > depth
    if cut:
        return "ranked too low", ""
    return ("demoted" if rank else "filtered"), step.name


def _within(rank: int | None, k: int) -> bool:
    return rank is not None and rank <= k
