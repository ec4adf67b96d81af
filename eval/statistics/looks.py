"""Verdicts on held-out questions that somebody asks for again and again, on the same questions.

Each look tells one bit, *better* or not. Until the first *better* all answers were no, so that what
is tried next does not depend on the held-out questions, and the looks are as many tests as if they
had been fixed in advance: at `LEVEL` each, the chance that any of `LOOKS` is falsely *better* is at
most .05, however their differences depend on one another (Bonferroni; the count of possible answers
is the argument of Blum and Hardt, "The Ladder: a reliable leaderboard for machine learning
competitions", ICML 2015). After a *better* what is left of the .05 goes on; that somebody knows
when it fell is not counted, and was simulated.

Who tries 200 pipelines needs no 200 looks: a look is only for one that leads on the development
questions (`find_least`), by the step of the Ladder, and the answer to the others is free, because
the held-out questions have no part in it. `python -m benchmarks.adaptive` compares this with other
methods.
"""

from collections.abc import Iterable

from assay.eval.statistics.significance import ALPHA

LOOKS = 10
LEVEL = ALPHA / LOOKS
STEP = 1.0  # standard errors by which a pipeline leads


def find_least(error: float, earlier: Iterable[float]) -> float:
    """Return the gain on development questions above which a pipeline leads.

    Args:
        error: The standard error of its mean difference from the incumbent.
        earlier: The gains over the same incumbent of pipelines that were looked at before.

    Returns:
        `STEP` standard errors above the largest of these; 0 if there is none.

    """
    return max((value + STEP * error for value in earlier), default=0.0)


def is_better(difference: float, p: float | None) -> bool:
    """Return True if a difference on held-out questions is shown to be above 0.

    `p` is that of the two-sided test; None if the questions are too few for any.
    """
    return difference > 0 and p is not None and p / 2 <= LEVEL
