"""Runs scored by two judges: people, for some queries, and a model, for these and others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.collection import GoldItem
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.comparability import check_comparable
from assay.eval.runs.summary.labels import label_runs
from assay.eval.runs.summary.means import estimate_changes, estimate_scores
from assay.eval.scoring import measures
from assay.eval.statistics.estimates import Estimate, Range
from assay.eval.statistics.groups import Clusters
from assay.eval.statistics.max_t import randomise_family
from assay.eval.statistics.prediction_powered import PoweredEstimate, estimate_powered_mean
from assay.eval.statistics.rank_correlation import estimate_tau
from assay.eval.statistics.significance import ALPHA
from assay.retrievers.base import AssayError

Grades = Mapping[str, int]  # by the digest of a pair
Items = Mapping[str, GoldItem]  # the gold item of a pair, by the digest of the pair


@dataclass(frozen=True, slots=True)
class RunPairAgreement:
    """A pair of runs under both judges.

    `people` and `model` are the differences `second` - `first` of the means; `p_people` and
    `p_model` their p-values, adjusted for all pairs.
    """

    first: str
    second: str
    people: float
    model: float
    p_people: float
    p_model: float

    @property
    def separated(self) -> bool:
        """True if the difference is significant by people's grades."""
        return self.p_people <= ALPHA

    @property
    def reversed(self) -> bool:
        """True if the pair is separated and the model puts the two in the opposite order."""
        return self.separated and self.people * self.model < 0


@dataclass(frozen=True, slots=True)
class MeanEstimates:
    """Estimates of a mean, or of a difference from the first run, from three sources.

    Attributes:
        run: The label of the run.
        people: By people's grades, of the queries that have them.
        model: By the model's grades, of all queries.
        powered: By both (prediction-powered); None if all queries have people's grades, or only one
            has.
    """

    run: str
    people: Estimate
    model: Estimate
    powered: PoweredEstimate | None


@dataclass(frozen=True)
class Systems:
    """Scores of runs under both judges.

    Attributes:
        measure: The measure.
        queries: The number of queries with both judges' grades for all their pairs.
        more: The number of queries with only the model's grade for some pairs.
        tau: Kendall's τ of the two orders of the runs; None if a judge ties all runs.
        pairs: The pairs of runs.
        means: The means by run.
        differences: The differences from the first run, of each other run.
    """

    measure: str
    queries: int
    more: int
    tau: Estimate | None
    pairs: tuple[RunPairAgreement, ...]
    means: tuple[MeanEstimates, ...]
    differences: tuple[MeanEstimates, ...]


def check_systems(runs: Sequence[StoredRun], measure: str) -> None:
    """Check that the runs can be ranked by the measure.

    Raises AssayError for runs that were not judged alike, for an unknown measure, and for one with
    no better direction.
    """
    if not measures.find(measure).is_ranked:
        raise AssayError(f"--measure {measure}: of it neither more nor less is better")
    for run in runs[1:]:
        check_comparable(runs[0], run)


def rank_runs(
    items: Items,
    people: Grades,
    model: Grades,
    runs: Sequence[StoredRun],
    measure: str,
) -> Systems | None:
    """Score runs under both judges; return None if no query has all grades of both.

    Raises AssayError as `check_systems` does.
    """
    check_systems(runs, measure)
    name = measures.find(measure).name
    by_query: dict[str, dict[str, GoldItem]] = {}
    for digest, item in items.items():
        if digest in model and item.query_id in runs[0].queries:
            by_query.setdefault(item.query_id, {})[digest] = item
    full = [id_ for id_, of in by_query.items() if of.keys() <= people.keys()]
    more = [id_ for id_ in by_query if id_ not in set(full)]
    if not full:
        return None
    true = _score(runs, {id_: by_query[id_] for id_ in full}, people, name)
    guessed = _score(runs, by_query, model, name, order=[*full, *more])
    near = guessed[: len(full)]
    sides = true, near, guessed[len(full) :]
    labels, claims = label_runs(runs), Claims.of(runs[0])
    return Systems(
        measure=name,
        queries=len(full),
        more=len(more),
        tau=estimate_tau(true, near),
        pairs=_compare(labels, true, near, claims.cluster(full)),
        means=tuple(
            _estimate(label, [side[:, i] for side in sides], name, claims, [*full, *more], False)
            for i, label in enumerate(labels)
        ),
        differences=tuple(
            _estimate(
                label,
                [side[:, i] - side[:, 0] for side in sides],
                name,
                claims,
                [*full, *more],
                True,
            )
            for i, label in enumerate(labels[1:], start=1)
        ),
    )


def _score(
    runs: Sequence[StoredRun],
    items: Mapping[str, Items],
    grades: Grades,
    measure: str,
    order: Sequence[str] = (),
) -> NDArray[np.float64]:
    """Return the scores of runs, of shape (queries, runs), under the given grades.

    They replace the collection's grades for the same pairs. Its other judgments are kept, except
    those of models.
    """
    queries = order or list(items)
    gold = {query: _grade(runs[0].gold[query], items[query], grades) for query in queries}
    columns = []
    for run in runs:
        judged = replace(run.take(gold), gold=gold)
        scores = measures.score([measure], judged.joined, gold)[measure]
        columns.append([scores[query] for query in queries])
    return np.array(columns).T


def _grade(gold: Sequence[GoldItem], items: Items, grades: Grades) -> tuple[GoldItem, ...]:
    replaced = {item.id for item in items.values()}
    kept = [item for item in gold if item.id not in replaced and not item.by_model]
    given = [replace(item, grade=grades[digest], judged_by="") for digest, item in items.items()]
    return (*kept, *given)


def _compare(
    labels: Sequence[str],
    true: NDArray[np.float64],
    guessed: NDArray[np.float64],
    clusters: Clusters | None,
) -> tuple[RunPairAgreement, ...]:
    couples = list(combinations(range(len(labels)), 2))
    differences = [
        np.stack([side[:, second] - side[:, first] for first, second in couples], axis=1)
        for side in (true, guessed)
    ]
    by_query = [randomise_family(side).adjusted for side in differences]
    adjusted = [
        found if clusters is None else _raise(found, side, clusters)
        for found, side in zip(by_query, differences, strict=True)
    ]
    means = [side.mean(axis=0).tolist() for side in differences]
    return tuple(
        RunPairAgreement(labels[first], labels[second], *values)
        for (first, second), *values in zip(couples, *means, *adjusted, strict=True)
    )


def _raise(
    p_values: Sequence[float], differences: NDArray[np.float64], clusters: Clusters
) -> tuple[float, ...]:
    """Return the p-values, each at least as large as the p-value by group."""
    found = randomise_family(differences, groups=clusters.numbers, share=clusters.share)
    return tuple(map(max, p_values, found.adjusted))


def _estimate(
    label: str,
    sides: Sequence[NDArray[np.float64]],
    measure: str,
    claims: Claims,
    queries: Sequence[str],
    change: bool,
) -> MeanEstimates:
    """Return estimates of a mean, or of its `change`.

    `sides` are the values by people's grades, by the model's for the same queries, and by the
    model's for the rest of `queries`.
    """
    true, guessed, rest = sides
    found = measures.find(measure)
    within: Range = found.change if change else found.within
    find = estimate_changes if change else estimate_scores
    of_true, of_all = claims.cluster(queries[: len(true)]), claims.cluster(queries)
    powered = None
    if len(true) > 1 and len(rest):
        powered = estimate_powered_mean(
            true.tolist(), guessed.tolist(), rest.tolist(), within, of_all
        )
    everything = [*guessed.tolist(), *rest.tolist()]
    means = find(measure, true.tolist(), of_true), find(measure, everything, of_all)
    return MeanEstimates(label, *means, powered)
