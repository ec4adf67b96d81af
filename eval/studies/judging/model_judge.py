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

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.eval.runs.stored import StoredRun
from assay.eval.statistics.agreement import Agreement, measure_agreement
from assay.eval.statistics.rank_correlation import cross_tabulate
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.judging.two_judges import Grades, Items, Systems, rank_runs

LEAST_TAU = 0.7
Verdict = Literal["may be trusted", "must not be trusted", "not shown either way"]


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
    both = [(people[i], model[i]) for i in sorted(people.keys() & model.keys())]
    twice = [(model[i], again[i]) for i in sorted(model.keys() & again.keys())]
    highest = max([1, *people.values(), *model.values()])
    return ModelJudge(
        judge=judge,
        graded=len(model),
        agreement=measure_agreement(both) if both else None,
        confusion=cross_tabulate(both, highest),
        again=measure_agreement(twice) if twice else None,
        systems=rank_runs(items, people, model, runs, measure) if both and len(runs) > 1 else None,
    )
