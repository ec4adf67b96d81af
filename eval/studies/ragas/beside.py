"""Comparison of ragas scores with the nearest measure of the same run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.eval.runs.json_form import in_json, length, or_null
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.means import estimate_scores
from assay.eval.statistics.estimates import SHARE, Estimate, estimate_mean
from assay.eval.studies.ragas.metrics import Metric
from assay.eval.studies.ragas.scores import Scores

SHOWN = 10  # queries on which a metric and its measure disagree most
SAME = 1e-6  # scores closer than this are the same: ragas adds 1e-10 to a denominator


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A query for which a metric and its nearest measure give different scores."""

    query: str
    text: str
    ragas: float
    measure: float


@in_json(
    "mean",
    "measure_mean",
    "differ",
    "disagreements",
    metric="metric.name",
    empty=length("scores.empty"),
    missing="scores.reasons",
    measure=or_null("measure"),
    kendall_tau="tau",
    relation="metric.relation",
    queries="scores.values",
    queries_missing="scores.missing",
)
@dataclass(frozen=True)
class Beside:
    """A metric compared with its nearest measure, both over the queries that ragas scored.

    Attributes:
        scores: The scores of the metric.
        mean: The mean of the metric; None if ragas scored no query.
        measure: The nearest measure; empty if there is none, and then the other fields are None.
        measure_mean: The mean of the measure.
        tau: Kendall's tau-b over the queries; None if either side gives all queries the same score.
        differ: The number of queries with different scores.
        disagreements: The queries with the largest differences.
    """

    scores: Scores
    mean: Estimate | None
    measure: str = ""
    measure_mean: Estimate | None = None
    tau: float | None = None
    differ: int | None = None
    disagreements: tuple[Disagreement, ...] = ()

    @property
    def metric(self) -> Metric:
        """The metric."""
        return self.scores.metric


def compare(run: StoredRun, scores: Sequence[Scores], k: int) -> list[Beside]:
    """Compare each metric with its measure at the cutoff `k`."""
    wanted = {item.metric.find_measure(k) for item in scores} - {""}
    scored = run.take({query for item in scores for query in item.values})
    found = scored.score(sorted(wanted)) if scored.queries else {}
    return [_compare(run, item, item.metric.find_measure(k), found) for item in scores]


def _compare(
    run: StoredRun, scores: Scores, measure: str, found: Mapping[str, Mapping[str, float]]
) -> Beside:
    values = scores.values
    if not values:
        return Beside(scores, None, measure)
    mean = estimate_mean(list(values.values()), SHARE)
    if not measure:
        return Beside(scores, mean)
    pairs = [
        Disagreement(query, run.queries[query].text, value, found[measure][query])
        for query, value in values.items()
    ]
    apart = [pair for pair in pairs if _gap(pair) > SAME]
    return Beside(
        scores,
        mean,
        measure,
        estimate_scores(measure, [pair.measure for pair in pairs]),
        correlate(pairs),
        len(apart),
        tuple(sorted(apart, key=_gap, reverse=True)[:SHOWN]),
    )


def correlate(pairs: Sequence[Disagreement]) -> float | None:
    """Return Kendall's tau-b of the two scores over queries; None if one does not vary."""
    from scipy.stats import kendalltau

    # Rounded, because scores that are the same but for rounding must tie.
    sides = ([round(pair.ragas, 6) for pair in pairs], [round(pair.measure, 6) for pair in pairs])
    if any(len(set(side)) < 2 for side in sides):
        return None
    tau = float(kendalltau(*sides).statistic)
    return None if math.isnan(tau) else tau


def _gap(pair: Disagreement) -> float:
    return abs(pair.ragas - pair.measure)
