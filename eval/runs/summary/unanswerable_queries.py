"""Queries that nothing answers: the share with no hits, and the scores that identify them.

A query is unanswered if no judged text has the grade from which a text answers (see
`assay.eval.collections.card`). Every list of a run has a best score and a margin: that score less
the mean of the first 20. An answered query should have a higher score than an unanswered one; the
share of pairs for which it has is the area under the ROC curve.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from assay.eval.runs.json_form import in_json
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.candidate_lists import FUSION, LEG, name_entries
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.means import average_shares
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.roc import Point, estimate_auc, trace_curve

RERANK = "rerank"
MARGIN_OF = 20
Kind = Literal["best", "margin"]


@in_json("step", spread=("auc",), score="kind")
@dataclass(frozen=True)
class Signal:
    """A score of one list of each query, in the order of the run; minus infinity for an empty list.

    There is at least one answered and one unanswered query.
    """

    step: str
    kind: Kind
    answered: tuple[float, ...]
    unanswered: tuple[float, ...]

    @cached_property
    def auc(self) -> Estimate:
        """The chance that an answered query scores above an unanswered one."""
        return estimate_auc(self.answered, self.unanswered)

    @cached_property
    def curve(self) -> list[Point]:
        """The points of all thresholds; positives are the answered queries."""
        return trace_curve(self.answered, self.unanswered)

    @property
    def words(self) -> str:
        """The name of the score."""
        return f"{self.step}, {'best' if self.kind == 'best' else f'best − mean of {MARGIN_OF}'}"


@in_json(answered="falsely_empty", unanswered="rightly_empty", auc="signals")
@dataclass(frozen=True)
class Abstention:
    """The abstention of a run on queries that nothing answers, of which there is at least one.

    `falsely_empty` is the share of the answered queries for which nothing is returned, None if
    there are none; `rightly_empty` that of the unanswered ones. `signals` need both kinds of
    queries.
    """

    falsely_empty: Estimate | None
    rightly_empty: Estimate
    signals: tuple[Signal, ...]

    @property
    def rows(self) -> tuple[tuple[str, Estimate], ...]:
        """The shares of queries for which nothing is returned, with words for each kind."""
        right = ("nothing returned, unanswered", self.rightly_empty)
        if self.falsely_empty is None:
            return (right,)
        return (right, ("nothing returned, answered", self.falsely_empty))

    @property
    def best(self) -> Signal | None:
        """The signal that best separates answered from unanswered queries."""
        return max(self.signals, key=lambda signal: signal.auc.value, default=None)

    @property
    def caution(self) -> str:
        """A caution on the means of a run on queries of both kinds; "" if there is one kind."""
        if self.falsely_empty is None:
            return ""
        few = self.rightly_empty.n
        return (
            f"Nothing answers {few} of {few + self.falsely_empty.n} queries; the measures above "
            "count what is judged related to them, else 0. `assay threshold` chooses when to "
            "return nothing"
        )


def examine_answering(run: StoredRun) -> Abstention | None:
    """Return the abstention of `run` on unanswered queries; None if there are none."""
    unanswered = find_unanswered(run)
    if not unanswered:
        return None
    answered = [query for query in run.queries if query not in unanswered]
    return Abstention(
        falsely_empty=_count_empty(run, answered) if answered else None,
        rightly_empty=_count_empty(run, list(unanswered)),
        signals=find_signals(run) if answered else (),
    )


def find_unanswered(run: StoredRun) -> frozenset[str]:
    """Return the ids of the queries that nothing judged answers."""
    least = run.manifest.collection.answers_from
    return frozenset(
        query for query, gold in run.gold.items() if all(item.grade < least for item in gold)
    )


def find_signals(run: StoredRun) -> tuple[Signal, ...]:
    """Return the signals of every leg, of the fused list, and of the reranked one."""
    unanswered = find_unanswered(run)
    lists = {query: _list_scores(run, query) for query in run.queries}
    steps = dict.fromkeys(step for by_step in lists.values() for step in by_step)
    signals = []
    for step in steps:
        for kind, measure in MEASURES:
            scores = {query: measure(by_step.get(step, ())) for query, by_step in lists.items()}
            signals.append(
                Signal(
                    step=step,
                    kind=kind,
                    answered=tuple(i for query, i in scores.items() if query not in unanswered),
                    unanswered=tuple(i for query, i in scores.items() if query in unanswered),
                )
            )
    return tuple(signals)


def _list_scores(run: StoredRun, query: str) -> Mapping[str, Sequence[float]]:
    """Return the first scores of a query's lists by step; a step without scores has none."""
    trace = run.rankings[query].trace
    return {
        name: [score for _, score in entry.candidates[:MARGIN_OF]]
        for name, entry in zip(name_entries(entry.name for entry in trace), trace, strict=True)
        if entry.candidates and (entry.kind in (LEG, FUSION) or entry.name == RERANK)
    }


def _take_best(scores: Sequence[float]) -> float:
    return scores[0] if scores else -math.inf


def _take_margin(scores: Sequence[float]) -> float:
    return scores[0] - sum(scores) / len(scores) if scores else -math.inf


def _count_empty(run: StoredRun, queries: Sequence[str]) -> Estimate:
    empty = {query: not run.rankings[query].hits for query in queries}
    return average_shares(empty, Claims.of(run))


MEASURES: tuple[tuple[Kind, Callable[[Sequence[float]], float]], ...] = (
    ("best", _take_best),
    ("margin", _take_margin),
)
