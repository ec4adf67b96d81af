"""Runs as two judges see them: a person, of some queries, and a model, of those and more."""

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
Items = Mapping[str, GoldItem]  # what a judgment of a pair is, by the digest of the pair


@dataclass(frozen=True, slots=True)
class RunPairAgreement:
    """A pair of runs under both judges: the differences `second` - `first` of the means, and their
    p-values, adjusted for all pairs.
    """

    first: str
    second: str
    people: float
    model: float
    p_people: float
    p_model: float

    @property
    def separated(self) -> bool:
        """Whether people's grades tell the two apart."""
        return self.p_people <= ALPHA

    @property
    def reversed(self) -> bool:
        """Whether the model puts what people tell apart the other way round."""
        return self.separated and self.people * self.model < 0


@dataclass(frozen=True, slots=True)
class MeanEstimates:
    """A mean, or a difference from the first run, by three ways: people's grades of few queries,
    the model's of all, and both together (prediction-powered), None where all have people's.
    """

    run: str
    people: Estimate
    model: Estimate
    powered: PoweredEstimate | None


@dataclass(frozen=True)
class Systems:
    """How runs stand under both judges: `queries` have both grades for all of their pairs,
    `more` only the model's for some.
    """

    measure: str
    queries: int
    more: int
    tau: Estimate | None
    pairs: tuple[RunPairAgreement, ...]
    means: tuple[MeanEstimates, ...]
    differences: tuple[MeanEstimates, ...]


def check_systems(runs: Sequence[StoredRun], measure: str) -> None:
    """Raise AssayError for runs that were not judged alike, for what is no measure, and for one of
    which neither more nor less is better.
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
    """Return how runs stand under both judges; None where no query has all grades of both.

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
    near, rest = guessed[: len(full)], guessed[len(full) :]
    labels, claims = label_runs(runs), Claims.of(runs[0])
    return Systems(
        measure=name,
        queries=len(full),
        more=len(more),
        tau=estimate_tau(true, near),
        pairs=_compare(labels, true, near, claims.cluster(full)),
        means=tuple(
            _estimate(
                labels[i], true[:, i], near[:, i], rest[:, i], name, claims, [*full, *more], False
            )
            for i in range(len(runs))
        ),
        differences=tuple(
            _estimate(
                labels[i],
                true[:, i] - true[:, 0],
                near[:, i] - near[:, 0],
                rest[:, i] - rest[:, 0],
                name,
                claims,
                [*full, *more],
                True,
            )
            for i in range(1, len(runs))
        ),
    )


def _score(
    runs: Sequence[StoredRun],
    items: Mapping[str, Items],
    grades: Grades,
    measure: str,
    order: Sequence[str] = (),
) -> NDArray[np.float64]:
    """Return the scores of runs, of shape (queries, runs), with these grades in place of those that
    the collection has for the same pairs. Its other judgments stay, but for those of models.
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
    """Return p-values by query, none below that by group."""
    found = randomise_family(differences, groups=clusters.numbers, share=clusters.share)
    return tuple(map(max, p_values, found.adjusted))


def _estimate(
    label: str,
    true: NDArray[np.float64],
    guessed: NDArray[np.float64],
    rest: NDArray[np.float64],
    measure: str,
    claims: Claims,
    queries: Sequence[str],
    change: bool,
) -> MeanEstimates:
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
