"""The limit per document: no document fills the list."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from assay.retrievers.base import Hit
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import Stage, StageResult, StageSettings


class PerDocumentSettings(StageSettings):
    """Keeps only the best few hits of each document."""

    type: Literal["per_document"]
    limit: int = Field(2, ge=1, description="how many hits of one document are kept")

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return PerDocument(self.limit)


class PerDocument(Stage):
    """Drops the hits of a document beyond its first `limit`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` without those beyond the limit of their document."""
        seen: Counter[str] = Counter()
        kept = []
        for hit in hits:
            seen[hit.chunk.doc_id] += 1
            if seen[hit.chunk.doc_id] <= self._limit:
                kept.append(hit)
        crowded = sum(number > self._limit for number in seen.values())
        note = f"dropped {len(hits) - len(kept)} hits of {crowded} documents" if crowded else ""
        return StageResult(kept, note, {"in": len(hits), "out": len(kept)})
