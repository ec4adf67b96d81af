"""Validation of a judging model: its grades compared with people's, and runs scored by each.

The rule of the verdict. By people's grades, a pair of runs is separated if the randomisation test
of all pairs together gives their difference an adjusted p-value of at most .05. A model reverses
a separated pair if its grades put the two in the opposite order. The model

* may be trusted to rank systems here, if it reverses no separated pair, at least one pair is
  separated, and the interval of Kendall's τ lies at or above .7;
* must not be trusted, if it reverses a separated pair, and its own difference has an adjusted
  p-value of at most .05 too; or if the interval of τ lies below .7;
* is not shown to be either in all other cases.

.7 is a convention: for six runs it allows two of the fifteen pairs to change places.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.eval.runs.json_form import in_json
from assay.eval.runs.stored import StoredRun
from assay.eval.statistics.agreement import Agreement, measure_agreement
from assay.eval.statistics.rank_correlation import cross_tabulate
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.judging.two_judges import Grades, Items, Systems, rank_runs

LEAST_TAU = 0.7
Verdict = Literal["may be trusted", "must not be trusted", "not shown either way"]


@in_json(..., "verdict", "reason")
@dataclass(frozen=True)
class ModelJudge:
    """A model's grades compared with people's.

    Attributes:
        judge: The name of the model.
        graded: The number of pairs that it graded.
        agreement: Its agreement with people; None if they share no pair.
        confusion: A row for each grade of a person: how often the model gave each grade.
        again: Its agreement with itself when asked twice; None if it was not.
        decided: The number of pairs whose two grades stood apart, so that a third decided.
        systems: The runs as scored by both; None for fewer than two runs, or if no query has all
            grades of both.
    """

    judge: str
    graded: int
    agreement: Agreement | None
    confusion: list[list[int]]
    again: Agreement | None
    decided: int
    systems: Systems | None

    @property
    def verdict(self) -> Verdict:
        """The verdict on the model's use for ranking systems: see the rule above."""
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
        """The reason for the verdict, in a sentence."""
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


def examine(
    judge: str,
    items: Items,
    people: Grades,
    model: Grades,
    twice: Sequence[tuple[int, int]],
    decided: int,
    runs: Sequence[StoredRun],
    measure: str,
) -> ModelJudge:
    """Compare a model's grades with people's, and its first grades with its second ones.

    Two or more runs are also scored by `measure` under either judge. Raises AssayError for runs
    that were not judged alike, and for a measure with no better direction.
    """
    both = [(people[i], model[i]) for i in sorted(people.keys() & model.keys())]
    highest = max([1, *people.values(), *model.values()])
    return ModelJudge(
        judge=judge,
        graded=len(model),
        agreement=measure_agreement(both) if both else None,
        confusion=cross_tabulate(both, highest),
        again=measure_agreement(twice) if twice else None,
        decided=decided,
        systems=rank_runs(items, people, model, runs, measure) if both and len(runs) > 1 else None,
    )
