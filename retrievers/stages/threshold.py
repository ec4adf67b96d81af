"""The threshold: fewer hits rather than poor ones."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from retrievers.base import Hit
from retrievers.settings import Workshop
from retrievers.stages.base import Comparison, Stage, StageResult, StageSettings


class ThresholdSettings(StageSettings):
    """Drops hits whose calibrated score, or cosine, is too low; perhaps all of them."""

    type: Literal["threshold"]
    minimum: float = Field(0.3, description="the lowest score that is kept")

    @property
    def comparison(self) -> Comparison | None:
        """Its minimum."""
        return Comparison("threshold.minimum")

    def build(self, workshop: Workshop) -> Stage:
        """Return the stage."""
        return Threshold(self.minimum)


class Threshold(Stage):
    """Drops the hits that score below `minimum`."""

    def __init__(self, minimum: float) -> None:
        self._minimum = minimum

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return the hits with a score of at least `minimum`."""
        kept = [hit for hit in hits if hit.score >= self._minimum]
        dropped = len(hits) - len(kept)
        note = f"dropped {dropped} hits that score below {self._minimum:g}" if dropped else ""
        return StageResult(kept, note, {"in": len(hits), "out": len(kept)})
