"""Agreement of two judges beyond chance."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of two judges on `n` texts that both graded.

    It has the share of texts with the same grade, and κ, 1 for full agreement and 0 for that of
    chance. `weighted` is κ with each disagreement weighted by the square of its distance. κ is
    None if both judges gave one grade to all texts: chance leaves nothing to agree on.
    """

    n: int
    same: float
    kappa: float | None
    weighted: float | None


def measure_agreement(grades: Sequence[tuple[int, int]]) -> Agreement:
    """Return the agreement of two judges on the same texts.

    κ is 1 minus the weight of the disagreements over the weight that the two judges' own shares
    of grades would give by chance (Cohen, "A coefficient of agreement for nominal scales", 1960;
    "Weighted kappa", 1968). Raises ValueError without a text.
    """
    if not grades:
        raise ValueError("no text was graded by both")
    same = sum(one == other for one, other in grades) / len(grades)
    return Agreement(len(grades), same, _kappa(grades, 0), _kappa(grades, 2))


def _kappa(grades: Sequence[tuple[int, int]], power: int) -> float | None:
    """Return κ with disagreements weighted by their distance to the `power`: with 0 all alike."""

    def weigh(one: int, other: int) -> int:
        return 0 if one == other else abs(one - other) ** power

    ones, others = (Counter(given) for given in zip(*grades, strict=True))
    expected = sum(
        count * times * weigh(one, other)
        for one, count in ones.items()
        for other, times in others.items()
    )
    if expected == 0:
        return None
    return 1 - len(grades) * sum(weigh(one, other) for one, other in grades) / expected
