"""Figures of stored runs, computed once and cached by everything that they depend on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from math import isfinite

from assay.eval.collections.collection import GoldItem
from assay.eval.running.run_memo import Memo, of_stored, open_cache
from assay.eval.runs import generated_answers
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.attribution import NOTHING, Attribution, ItemStatus, attribute
from assay.eval.runs.summary.ceilings import Ceiling
from assay.eval.runs.summary.cost import Cost, find_cost
from assay.eval.runs.summary.legs_alone import LegAlone, score_legs
from assay.eval.runs.summary.summary import (
    Summary,
    describe_first,
    describe_shallow,
    summarise_scores,
)
from assay.eval.runs.summary.unjudged import UnjudgedBounds, examine
from assay.eval.scoring.calculation import ByQuery, Scores
from assay.eval.scoring.generated import AnswerMeasure
from assay.eval.scoring.kinds import LISTED
from assay.eval.scoring.measures import choose_headline, find
from assay.eval.statistics.estimates import Estimate, OpenEstimate, make_estimate

# The means by measure, and the percentiles of latency by stage.
_Figures = tuple[dict[str, Estimate], dict[str, dict[str, OpenEstimate]]]


@dataclass(frozen=True)
class CachedSummary(Summary):
    """A summary whose slow parts are cached."""

    kept: Memo

    @cached_property
    def attribution(self) -> Attribution:  # noqa: D102
        return attribute_cached(self.run, self.kept, known=self.scores)

    @cached_property
    def legs(self) -> tuple[LegAlone, ...]:  # noqa: D102
        measure = choose_headline(self.scores)
        return self.kept.find(
            f"legs by {measure}", tuple[LegAlone, ...], lambda: score_legs(self.run, measure)
        )

    @cached_property
    def unjudged(self) -> tuple[UnjudgedBounds, ...]:  # noqa: D102
        def find() -> tuple[UnjudgedBounds, ...]:
            return examine(self.run, self.scores)

        if not all(map(_is_ours, self.scores)):
            return find()
        return self.kept.find(
            f"unjudged in {', '.join(self.scores)}", tuple[UnjudgedBounds, ...], find
        )

    @cached_property
    def shallow(self) -> str:  # noqa: D102
        names = list(self.scores)
        return self.kept.find(
            f"shallow in {', '.join(names)}", str, lambda: describe_shallow(self.run, names)
        )

    @cached_property
    def near_empty(self) -> str:  # noqa: D102
        return self.kept.find("near-empty chunks", str, lambda: describe_first(self.run))

    @cached_property
    def cost(self) -> Cost | None:  # noqa: D102
        return self.kept.find("cost", Cost | None, lambda: find_cost(self.run))


def summarise_cached(run: StoredRun, names: Sequence[str], memo: Memo | None = None) -> Summary:
    """Summarise a stored run as `assay.eval.runs.summary.summary.summarise` does, with a cache.

    `memo` is that of the run, if it is known already.
    """
    memo = memo or open_memo(run)
    scores = _find_scores(run, names, memo)

    def find() -> _Figures:
        summary = summarise_scores(run, scores)
        return dict(summary.means), {name: dict(it) for name, it in summary.latency.items()}

    kept = f"figures of {', '.join(scores)}"
    means, times = (
        memo.find(kept, _Figures, find, _is_finite) if all(map(_is_ours, scores)) else find()
    )
    latency = {
        stage: {name: make_estimate(*astuple(item)) for name, item in found.items()}
        for stage, found in times.items()
    }
    return CachedSummary(run, scores, means, latency, memo)


def attribute_cached(
    run: StoredRun, memo: Memo, k: int = 10, known: Mapping[str, Mapping[str, float]] = NOTHING
) -> Attribution:
    """Return what `assay.eval.runs.summary.attribution.attribute` does, with a cache."""

    def find() -> _Statuses:
        return _shorten(attribute(run, k, known))

    name = "attribution" if k == 10 else f"attribution to {k}"
    return _lengthen(memo.find(name, _Statuses, find), run)


def open_memo(run: StoredRun) -> Memo:
    """Return the memo of a stored run, keyed by its files and its queries."""
    return Memo(of_stored(run.folder, run.queries), open_cache())


def _find_scores(run: StoredRun, names: Sequence[str], memo: Memo) -> Scores:
    """Return {measure: {query id: score}}, as `assay.eval.runs.generated_answers.score` does.

    Those of a measure that is a user's own, whose code may change unnoticed, are not cached.
    """
    wanted = list(dict.fromkeys(find(name).name for name in names))
    ours = {name: f"scores in {name}" for name in wanted if _is_ours(name)}
    kept = memo.recall(ours.values())
    found = {
        name: dict(zip(run.queries, json.loads(kept[key]), strict=True))
        for name, key in ours.items()
        if key in kept
    }
    missing = [name for name in wanted if name not in found]
    found |= generated_answers.score(run, missing)
    memo.keep({ours[name]: _encode(found[name], run) for name in missing if name in ours})
    return {name: found[name] for name in wanted}


def _is_finite(figures: _Figures) -> bool:
    """Return True if JSON can hold all figures."""
    return all(isfinite(end) for mean in figures[0].values() for end in (mean.low, mean.high))


def _is_ours(name: str) -> bool:
    return isinstance(find(name), (*LISTED, AnswerMeasure))


def _encode(scores: ByQuery, run: StoredRun) -> bytes:
    return json.dumps([scores[query] for query in run.queries]).encode()


@dataclass(frozen=True)
class _Statuses:
    """An attribution without its gold items; the statuses of each query are in their order."""

    k: int
    steps: tuple[str, ...]
    items: Mapping[str, list[tuple[str, str, dict[str, int | None], dict[str, int]]]]
    ceilings: tuple[Ceiling, ...]
    reached: dict[str, Estimate]


def _shorten(found: Attribution) -> _Statuses:
    items = {
        query: [(item.status, item.where, dict(item.ranks), dict(item.deeper)) for item in statuses]
        for query, statuses in found.items.items()
    }
    return _Statuses(found.k, found.steps, items, found.ceilings, dict(found.reached))


def _lengthen(found: _Statuses, run: StoredRun) -> Attribution:
    items = {
        query: tuple(
            ItemStatus(item, *status)
            for item, status in zip(_list_relevant(run.gold[query]), statuses, strict=True)
        )
        for query, statuses in found.items.items()
    }
    types = {query.id: query.type for query in run.queries.values()}
    return Attribution(found.k, found.steps, items, found.ceilings, found.reached, types)


def _list_relevant(gold: Sequence[GoldItem]) -> list[GoldItem]:
    return [item for item in gold if item.grade > 0]
