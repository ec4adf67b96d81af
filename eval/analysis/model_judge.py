"""Whether a model that judges may be trusted: its grades beside people's, runs scored by each.

The rule of the verdict. By people's grades, a pair of runs is separated where the randomisation
test of all pairs together gives their difference an adjusted p-value of at most .05. A model
reverses such a pair where its grades put the two the other way round. The model

* may be trusted to rank systems here, where no separated pair is reversed, one pair at least is
  separated, and the interval of Kendall's τ lies at or above .7;
* must not be, where it reverses a separated pair, and its own difference has an adjusted p-value of
  at most .05 too; or where the interval of τ lies below .7;
* is not shown to be either in all other cases.

.7 is a convention: of six runs it allows two of the fifteen pairs to change places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from eval.analysis.comparability import check_comparable
from eval.analysis.means import estimate_changes, estimate_scores
from eval.analysis.run_labels import label_runs
from eval.collections.collection import GoldItem
from eval.runs.stored import StoredRun
from eval.scoring import measures
from eval.statistics.agreement import Agreement, measure_agreement
from eval.statistics.estimates import Estimate, Range
from eval.statistics.max_t import randomise_family
from eval.statistics.prediction_powered import PoweredEstimate, estimate_powered_mean
from eval.statistics.rank_correlation import cross_tabulate, estimate_tau
from eval.statistics.significance import ALPHA
from retrievers.base import AssayError

LEAST_TAU = 0.7
Verdict = Literal["may be trusted", "must not be trusted", "not shown either way"]
Grades = Mapping[str, int]  # by the digest of a pair
Items = Mapping[str, GoldItem]  # what a judgment of a pair is, by the digest of the pair


@dataclass(frozen=True, slots=True)
class Ranked:
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
class Powered:
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
    pairs: tuple[Ranked, ...]
    means: tuple[Powered, ...]
    differences: tuple[Powered, ...]


@dataclass(frozen=True)
class ModelJudge:
    """A model's grades beside people's. `confusion` has a row for each grade of a person, of how
    often the model gave each; `again` is its agreement with itself, asked twice.
    """

    judge: str
    graded: int
    agreement: Agreement | None
    confusion: list[list[int]]
    again: Agreement | None
    systems: Systems | None

    @property
    def verdict(self) -> Verdict:
        """Whether it may be trusted to rank systems: see the rule above."""
        if self.systems is None or (tau := self.systems.tau) is None:
            return "not shown either way"
        reversed_ = [pair for pair in self.systems.pairs if pair.reversed]
        if any(pair.p_model <= ALPHA for pair in reversed_) or tau.high < LEAST_TAU:
            return "must not be trusted"
        if reversed_ or tau.low < LEAST_TAU or not any(x.separated for x in self.systems.pairs):
            return "not shown either way"
        return "may be trusted"

    @property
    def reason(self) -> str:
        """Why the verdict is what it is, in a sentence."""
        if self.agreement is None:
            return "no person has judged any of these pairs"
        if self.systems is None:
            return "name two runs or more whose order is to be compared"
        tau, pairs = self.systems.tau, self.systems.pairs
        if tau is None:
            return "one of the two judges ties all runs"
        separated = [pair for pair in pairs if pair.separated]
        reversed_ = [pair for pair in pairs if pair.reversed]
        by_chance = sum(pair.p_model > ALPHA for pair in reversed_)
        return (
            f"τ {tau.value:.2f} ({tau.low:.2f} to {tau.high:.2f}; {LEAST_TAU} is asked for) over "
            f"{self.systems.queries} queries; people separate {len(separated)} of {len(pairs)} "
            f"pairs of runs, and the model reverses {len(reversed_)} of them"
            + (f", {by_chance} within chance" if by_chance else "")
        )

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return asdict(self) | {"verdict": self.verdict, "reason": self.reason}


def examine(
    judge: str,
    items: Items,
    people: Grades,
    model: Grades,
    again: Grades,
    runs: Sequence[StoredRun],
    measure: str,
) -> ModelJudge:
    """Hold a model's grades against people's, and against those it gave when it was asked again.

    With two runs or more, they are scored by `measure` under either judge. Raises AssayError for
    runs that were not judged alike, and for a measure of which neither more nor less is better.
    """
    both = [(people[at], model[at]) for at in sorted(people.keys() & model.keys())]
    twice = [(model[at], again[at]) for at in sorted(model.keys() & again.keys())]
    highest = max([1, *people.values(), *model.values()])
    return ModelJudge(
        judge=judge,
        graded=len(model),
        agreement=measure_agreement(both) if both else None,
        confusion=cross_tabulate(both, highest),
        again=measure_agreement(twice) if twice else None,
        systems=_rank(items, people, model, runs, measure) if both and len(runs) > 1 else None,
    )


def _rank(
    items: Items,
    people: Grades,
    model: Grades,
    runs: Sequence[StoredRun],
    measure: str,
) -> Systems | None:
    name = measures.find(measure).name
    if not measures.find(measure).is_ranked:
        raise AssayError(f"--measure {measure}: of it neither more nor less is better")
    for run in runs[1:]:
        check_comparable(runs[0], run)
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
    labels = label_runs(runs)
    return Systems(
        measure=name,
        queries=len(full),
        more=len(more),
        tau=estimate_tau(true, near),
        pairs=_compare(labels, true, near),
        means=tuple(
            _estimate(labels[at], true[:, at], near[:, at], rest[:, at], name, change=False)
            for at in range(len(runs))
        ),
        differences=tuple(
            _estimate(
                labels[at],
                true[:, at] - true[:, 0],
                near[:, at] - near[:, 0],
                rest[:, at] - rest[:, 0],
                name,
                change=True,
            )
            for at in range(1, len(runs))
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
    labels: Sequence[str], true: NDArray[np.float64], guessed: NDArray[np.float64]
) -> tuple[Ranked, ...]:
    couples = list(combinations(range(len(labels)), 2))
    differences = [
        np.stack([side[:, second] - side[:, first] for first, second in couples], axis=1)
        for side in (true, guessed)
    ]
    adjusted = [randomise_family(side).adjusted for side in differences]
    means = [side.mean(axis=0).tolist() for side in differences]
    return tuple(
        Ranked(labels[first], labels[second], *values)
        for (first, second), *values in zip(couples, *means, *adjusted, strict=True)
    )


def _estimate(
    label: str,
    true: NDArray[np.float64],
    guessed: NDArray[np.float64],
    rest: NDArray[np.float64],
    measure: str,
    *,
    change: bool,
) -> Powered:
    kind = measures.find(measure)
    within: Range = kind.change if change else kind.kind.within
    find = estimate_changes if change else estimate_scores
    powered = None
    if len(true) > 1 and len(rest):
        powered = estimate_powered_mean(true.tolist(), guessed.tolist(), rest.tolist(), within)
    everything = [*guessed.tolist(), *rest.tolist()]
    return Powered(label, find(measure, true.tolist()), find(measure, everything), powered)
