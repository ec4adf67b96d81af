"""The measures of ir-measures: which can be computed, with which parameters."""

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from assay.eval.scoring import calculation
from assay.eval.scoring.calculation import ByQuery, Gold, Joined, Qrels, Run
from assay.eval.scoring.measure import SHARE, Measure
from assay.retrievers.base import AssayError

Scorer = Callable[[Qrels, Run], ByQuery]
MOST = 1_000_000
# A ranking with every sort of hit, and one of relevant hits only, on which some measures fail.
QRELS = {"q1": {"a": 1, "b": 3, "c": 0, "d": 2}, "q2": {"x": 0, "y": 1}}
RUN = {"q1": {"u": 4.0, "b": 3.0, "c": 2.0, "a": 1.0}, "q2": {"y": 1.0}}


def parse(name: str) -> Any:
    """Return ir-measures' measure of a name.

    It is None if ir-measures has no such measure, or none that the installed packages compute.

    Raises AssayError for a value of a parameter that its evaluators do not accept: some of them end
    the process.
    """
    import ir_measures

    try:
        measure = ir_measures.parse_measure(re.sub(r"^Hit\b", "Success", name))
        for key, info in measure.SUPPORTED_PARAMS.items():
            if key in measure.params and (allowed := _find_fault(info, key, measure.params[key])):
                raise AssayError(
                    f"measures: {name!r}: {key} must be {allowed}, not {measure.params[key]!r}"
                )
        measure.validate_params()  # type: ignore[no-untyped-call]
    except (AssertionError, MemoryError, NameError, RecursionError, SyntaxError, TypeError,
            ValueError):  # fmt: skip
        return None
    return measure


class TrecMeasure(Measure):
    """A measure of a TREC run and qrels: ir-measures computes it, with others in one call.

    If it is `of_hits`, each hit counts once, however many gold items it covers.
    """

    within = SHARE
    of_hits: ClassVar[bool] = False

    def find_scorer(self) -> Scorer | None:
        """Return the scorer that replaces ir-measures; None if there is none."""
        return None

    def check(self, name: str) -> bool:
        """Return True if it is computed. Raises AssayError if ir-measures fails on rankings."""
        import ir_measures

        if self.find_scorer():
            return True
        providers: Any = ir_measures.DefaultPipeline
        if not providers.supports(self.parsed):
            return False
        try:
            scores = calculation.compute_alone(self.standard, QRELS, RUN)
            if not all(map(math.isfinite, scores.values())):
                raise ValueError("a score is no number")
        except Exception as error:  # whatever an evaluator raises that cannot compute it
            reason = " ".join(str(error).split()) or type(error).__name__
            raise AssayError(
                f"measures: '{self.standard}': ir-measures cannot compute it of every ranking "
                f"({reason}); allowed: its other measures, such as nDCG@10"
            ) from error
        return True

    def score_trec(self, qrels: Qrels, run: Run) -> ByQuery:
        """Return the score of every query of `qrels`, by a call of its own."""
        scorer = self.find_scorer() or partial(calculation.compute_alone, self.standard)
        return scorer(qrels, run)

    def score_queries(self, joined: Joined, gold: Gold) -> ByQuery:
        """Return the score of every query of `gold`."""
        ranked = (calculation.run_of_hits if self.of_hits else calculation.run)(joined)
        return self.score_trec(calculation.qrels(joined, gold), ranked)


def _find_fault(info: Any, key: str, value: Any) -> str:
    """Return the values allowed for the parameter `key` in words, or "" if `value` is allowed."""
    if info.dtype is int:
        least = 0 if key in ("min_rel", "max_rel") else 1
        allowed = f"a whole number from {least} to {MOST}"
        return "" if type(value) is int and least <= value <= MOST else allowed
    if info.dtype is float:
        if key == "recall":  # trec_eval's has two decimals
            fits = type(value) is float and 0 <= value <= 1 and round(value, 2) == value
            return "" if fits else "a number from 0.0 to 1.0 with at most two decimals"
        most = 100.0 if key in ("beta", "T") else 1.0
        fits = type(value) is float and 0 <= value <= most
        return "" if fits else f"a number with a decimal point from 0.0 to {most}"
    if info.dtype is dict:
        fits = type(value) is dict and all(
            type(number) is int and 0 <= number <= 1000 for pair in value.items() for number in pair
        )
        return "" if fits else "a mapping of whole numbers to whole numbers, from 0 to 1000"
    return ""
