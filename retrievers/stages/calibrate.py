"""Calibration: fused scores on a scale from 0 to 1, in the same order."""

import math
import sys
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from assay.retrievers.base import Hit
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import Scale, Stage, StageResult, StageSettings, descend

# e^700 is the last that a float holds, and 1 / (1 + e^700) still leaves room for lesser scores.
LARGEST_EXPONENT = 700.0


class CalibrateSettings(StageSettings):
    """Maps fused scores to between 0 and 1 by a logistic function; their order stays."""

    scale: ClassVar[Scale] = "calibrated"
    type: Literal["calibrate"]
    midpoint: float = Field(
        0.5, ge=0, le=1, description="the share of the highest possible score that becomes 0.5"
    )
    steepness: float = Field(
        10.0, gt=0, description="how fast scores go from 0 to 1 around the midpoint"
    )

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return Calibrate(self.midpoint, self.steepness)


class Calibrate(Stage):
    """Gives each hit 1 / (1 + exp(-steepness * (score / top - midpoint))).

    `top` is what a chunk that every leg puts first would have, boosts apart. With reciprocal rank
    fusion of two legs, what one leg alone puts first is at 0.5, by default.
    """

    def __init__(self, midpoint: float, steepness: float) -> None:
        self._midpoint = midpoint
        self._steepness = steepness
        self._top = 1.0

    def index(self, corpus: Corpus, top: float) -> None:
        """Learn the highest score; 0 where every leg is boosted, which saturates what is found."""
        self._top = max(top, sys.float_info.min)

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` with new scores, which strictly descend and stay within 0 and 1.

        Boosts and factors lift scores above `top`; those that the function no longer tells apart
        each lie the least step there is below the one before.
        """
        counts = {"in": len(hits), "out": len(hits)}
        if not hits:
            return StageResult([], counts=counts)
        calibrated = descend((hit, self._calibrate(hit.score)) for hit in hits)
        first, last = calibrated[0].score, calibrated[-1].score
        note = f"scores from {hits[0].score:.4g} to {hits[-1].score:.4g} are now "
        return StageResult(calibrated, f"{note}{first:.3f} to {last:.3f}", counts)

    def _calibrate(self, score: float) -> float:
        exponent = self._steepness * (self._midpoint - score / self._top)
        limit = LARGEST_EXPONENT
        return 1 / (1 + math.exp(min(max(exponent, -limit), limit)))
