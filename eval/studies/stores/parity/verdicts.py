"""Two fused lists of one query: the same, the same but for ties, or different."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Literal, NamedTuple, get_args

Scored = tuple[int, float]
QueryVerdict = Literal["identical", "ties", "different"]
VERDICTS: tuple[QueryVerdict, ...] = get_args(QueryVerdict)

# Engines compute in 32 bits. Scores of reciprocal ranks differ by more up to rank 1,000.
RELATIVE = 1e-4
OF_THE_BEST = 1e-5
# The share of different queries that an alternative must explain to be the explanation.
ENOUGH = 0.95


def compare(returned: Sequence[Scored], expected: Sequence[Scored], limit: int) -> QueryVerdict:
    """Compare what an engine returned to `limit` with what was expected, both best first.

    A text that is returned twice is `different` from anything, since nothing is expected twice.
    `identical`: the same texts in the same order, scores equal but for rounding. `ties`: the same
    scores, and texts in another order only where their scores are equal but for rounding.
    """
    wanted = expected[:limit]
    if len(returned) != len(wanted) or find_repeated(returned) is not None:
        return "different"
    near = OF_THE_BEST * max((abs(score) for _, score in wanted), default=0.0)
    pairs = list(zip(returned, wanted, strict=True))
    if not all(_equal(one[1], other[1], near) for one, other in pairs):
        return "different"
    if all(one[0] == other[0] for one, other in pairs):
        return "identical"
    # A text beyond the limit may stand for one within that is as good.
    scores = dict(expected)
    alike = all(i in scores and _equal(score, scores[i], near) for i, score in returned)
    return "ties" if alike else "different"


def find_repeated(listed: Sequence[Scored]) -> int | None:
    """Return the first text that a list holds twice; None where each stands once."""
    seen: set[int] = set()
    for i, _ in listed:
        if i in seen:
            return i
        seen.add(i)
    return None


def _equal(one: float, other: float, near: float) -> bool:
    return isclose(one, other, rel_tol=RELATIVE, abs_tol=near)


class Trial(NamedTuple):
    """What was tried in place of the stated formula, and the ids of queries that agree with it.

    What is `inferred` from the answers themselves explains more than what is not.
    """

    family: str
    label: str
    agreed: frozenset[str]
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What explains most of the queries that differ: one thing changed in formula or lists.

    `explained` of the `different` queries come out as the engine returned them; of the `others`,
    which agree with the stated formula, `kept` still do.
    """

    family: str
    label: str
    explained: int
    different: int
    kept: int
    others: int

    @property
    def what(self) -> str:
        """What was changed, in words."""
        return f"{self.family} ({self.label})"

    @property
    def shortfall(self) -> str:
        """How many queries it does not account for, in words; "" where it accounts for all."""
        missed, against = self.different - self.explained, self.others - self.kept
        told = [f"{missed} of {self.different} that differ are not explained"] if missed else []
        told += [f"{against} of {self.others} others contradict it"] if against else []
        return ", ".join(told)

    @property
    def share(self) -> float:
        """The share of different queries that is explained."""
        return self.explained / self.different if self.different else 0.0

    @property
    def whole(self) -> bool:
        """Whether it is an explanation, of nearly all queries and against next to none."""
        return self.share >= ENOUGH and self.kept >= ENOUGH * self.others


def diagnose(verdicts: Mapping[str, QueryVerdict], trials: Sequence[Trial]) -> Diagnosis | None:
    """Return the best of `trials`, of equally good ones the first; None where none explains any.

    What is inferred counts only where nothing else is a whole explanation.
    """
    different = {query for query, verdict in verdicts.items() if verdict == "different"}
    others = verdicts.keys() - different
    found = {
        trial: Diagnosis(
            trial.family,
            trial.label,
            explained=len(trial.agreed & different),
            different=len(different),
            kept=len(trial.agreed & others),
            others=len(others),
        )
        for trial in trials
    }
    plain = [item for trial, item in found.items() if not trial.inferred]
    for candidates in (plain, list(found.values())):
        best = max(candidates, key=lambda item: (item.explained, item.kept), default=None)
        if best and best.whole:
            return best
    return best if best and best.explained else None


def count_verdicts(verdicts: Mapping[str, QueryVerdict]) -> dict[str, int]:
    """Return the number of queries by verdict."""
    counted = Counter(verdicts.values())
    return {name: counted[name] for name in VERDICTS}


def conclude(verdicts: Mapping[str, QueryVerdict], diagnosis: Diagnosis | None) -> str:
    """Return the verdict on all queries."""
    counted = count_verdicts(verdicts)
    if counted["different"]:
        if not diagnosis or not diagnosis.whole:
            return "different"
        return "; ".join(filter(None, (f"explained: {diagnosis.what}", diagnosis.shortfall)))
    return "identical but for ties" if counted["ties"] else "identical"
