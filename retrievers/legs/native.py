"""The native hybrid: an engine's own query over its dense and its keyword index."""

import time
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from retrievers.base import IndexReport
from retrievers.corpus import Corpus
from retrievers.engines import EngineSettings
from retrievers.engines.base import Engine
from retrievers.legs.base import Kind, Leg, LegResult
from retrievers.models.encoders import CachingEncoder, EncoderSettings
from retrievers.settings import Settings, Workshop


class NativeHybridSettings(Settings):
    """An engine's own hybrid query: dense and keyword lists fused inside the engine."""

    kind: ClassVar[Kind] = "hybrid"
    type: Literal["native_hybrid"] = "native_hybrid"
    engine: EngineSettings = Field(
        default_factory=EngineSettings, description="the engine that indexes and fuses"
    )
    encoder: EncoderSettings = Field(
        default_factory=EncoderSettings, description="the embedding model, or its name"
    )
    depth: int = Field(100, ge=1, description="fused candidates handed on")

    def build(self, workshop: Workshop) -> "NativeHybridLeg":
        """Return the leg, which has indexed nothing yet."""
        return NativeHybridLeg(self.engine.build(workshop), self.encoder.build(workshop))


class NativeHybridLeg(Leg):
    """Hands the engine texts and their vectors; what comes of them is the engine's doing."""

    def __init__(self, engine: Engine, encoder: CachingEncoder) -> None:
        self._engine = engine
        self._encoder = encoder

    def index(self, corpus: Corpus) -> IndexReport:
        """Encode the chunks and index texts and vectors in the engine."""
        texts = [chunk.searchable for chunk in corpus.chunks]
        begin = time.perf_counter()
        encoded = corpus.encode(self._encoder)
        seconds = time.perf_counter() - begin
        report = self._engine.index(texts, encoded.vectors, self._encoder.identity)
        return IndexReport(
            chunks=len(texts),
            seconds={"embed": seconds, **report.seconds},
            bytes=report.bytes,
            cached=(*(() if encoded.fresh else ("embed",)), *report.cached),
        )

    def search(self, query: str, depth: int) -> LegResult:
        """Return the engine's best `depth` chunks; a blank query matches none."""
        if not query.strip():
            return LegResult([], {"encode": 0.0, "search": 0.0})
        begin = time.perf_counter()
        vector = self._encoder.encode_query(query)
        encoded = time.perf_counter()
        candidates = self._engine.hybrid(query, vector, depth)
        end = time.perf_counter()
        return LegResult(
            candidates, {"encode": (encoded - begin) * 1e3, "search": (end - encoded) * 1e3}
        )

    def facts(self) -> Mapping[str, Any]:
        """The facts of the engine and of the encoder."""
        return {"engine": dict(self._engine.facts()), "encoder": dict(self._encoder.facts())}

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()
