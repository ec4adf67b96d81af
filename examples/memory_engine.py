"""An engine of your own: a store that fuses its dense and its keyword list itself."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from assay.retrievers.base import IndexReport
from assay.retrievers.engines.base import Capabilities, Engine, StoreSettings, check_dimensions
from assay.retrievers.engines.formulas import ReciprocalRanks
from assay.retrievers.fusion.ranking import Scored, best, ordered
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources


class MemorySettings(StoreSettings):
    """Lists in memory, fused by rank."""

    capabilities: ClassVar[Capabilities] = Capabilities("client")

    def build(self, resources: Resources) -> Engine:
        return Memory(self)


class Memory(Engine):
    formula = ReciprocalRanks(60)

    def __init__(self, settings: MemorySettings) -> None:
        self.depth = settings.depth
        self.close()

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        self.words, self.vectors = [set(text.lower().split()) for text in texts], vectors
        return IndexReport(len(texts))

    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        if not self.words:
            return []
        check_dimensions("memory", vector, self.vectors.shape[1])
        return best(self.vectors @ vector, limit)

    def keyword(self, text: str, limit: int) -> list[Scored]:
        asked = set(text.lower().split())
        found = ((i, float(len(asked & words))) for i, words in enumerate(self.words))
        return ordered(pair for pair in found if pair[1])[:limit]

    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        return self.formula.fuse(*self.lists(text, vector))[:limit]

    def metadata(self) -> dict[str, Any]:
        return {"engine": "memory", "version": "1", "exact": True}

    def close(self) -> None:
        self.words, self.vectors = [], np.empty((0, 0), np.float32)
