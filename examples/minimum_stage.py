"""A stage of your own, which drops hits too short to be read alone."""

from collections.abc import Sequence

from pydantic import Field

from assay.retrievers.base import Hit
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import Stage, StageResult, StageSettings


class MinimumSettings(StageSettings):
    """Drops hits of few words."""

    words: int = Field(5, ge=1, description="how many words a hit must have")

    def build(self, resources: Resources) -> Stage:
        return Minimum(self.words)


class Minimum(Stage):
    def __init__(self, words: int) -> None:
        self.words = words

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        kept = [hit for hit in hits if len(hit.chunk.text.split()) >= self.words]
        return StageResult(kept, counts={"in": len(hits), "out": len(kept)})
