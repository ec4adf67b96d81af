"""The threshold: fewer hits rather than poor ones, and none where nothing answers."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from assay.retrievers.base import Hit
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import Comparison, Stage, StageResult, StageSettings


class ThresholdSettings(StageSettings):
    """Drops hits whose score is too low; perhaps all of them, which `assay threshold` fits.

    Right after `rerank` it goes by the reranker's scores; with `of`, anywhere, by a dense leg's
    cosines; by calibrated scores of linear fusion it drops what lies far below the best possible.
    """

    type: Literal["threshold"]
    minimum: float = Field(0.3, description="the lowest score that is kept")
    of: str = Field(
        "",
        description="the name of a semantic leg: all hits are kept where one of them has such a "
        "cosine in its list, else none; without it each hit goes by its own score",
    )

    @property
    def comparison(self) -> Comparison | None:
        """Its minimum, with a score of the list or of a leg."""
        if self.of:
            return Comparison("threshold.of", leg=self.of)
        return Comparison(
            "threshold.minimum",
            ", set `of` to a semantic leg, or put it after rerank",
            beyond_ranks="how well a query is answered, and puts the best of every query high",
        )

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return LegThreshold(self.of, self.minimum) if self.of else Threshold(self.minimum)


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


class LegThreshold(Stage):
    """Drops all hits of a query where none scores `minimum` or more in the list of `leg`.

    A query that names its answer keeps them: a pinned hit is one whatever the leg makes of it.
    """

    def __init__(self, leg: str, minimum: float) -> None:
        self._leg = leg
        self._minimum = minimum

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return all the hits or none."""
        scores = [hit.legs[self._leg].score for hit in hits if self._leg in hit.legs]
        best = max(scores, default=None)
        enough = best is not None and best >= self._minimum
        if not hits or enough or any(hit.pinned for hit in hits):
            return StageResult(list(hits), counts={"in": len(hits), "out": len(hits)})
        found = "none was found by it" if best is None else f"the best there is {best:.3f}"
        note = f"dropped all {len(hits)} hits: below {self._minimum:g} by {self._leg}; {found}"
        return StageResult([], note, {"in": len(hits), "out": 0})
