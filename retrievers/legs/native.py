"""Legs inside an engine: its own hybrid query, and its dense and its keyword search alone."""

import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from retrievers.base import IndexReport
from retrievers.corpus import Corpus
from retrievers.engines.base import Engine
from retrievers.engines.qdrant.edge import QdrantEdgeSettings
from retrievers.engines.registry import EngineSettings
from retrievers.engines.retries import count_retries
from retrievers.legs.base import Kind, Leg, LegResult, LegSettings
from retrievers.models.base import Vectors
from retrievers.models.encoders import AnyEncoder, CachingEncoder, EncoderSettings
from retrievers.ranking import Scored
from retrievers.settings import Workshop

NO_VECTOR = np.empty(0, np.float32)


class EngineLeg(Leg):
    """Hands the engine texts and their vectors; what comes of them is the engine's doing."""

    def __init__(self, engine: Engine, encoder: CachingEncoder) -> None:
        self._engine = engine
        self._encoder = encoder

    def index(self, corpus: Corpus) -> IndexReport:
        """Encode the chunks and index texts and vectors in the engine."""
        texts = [chunk.searchable for chunk in corpus.chunks]
        encoded = corpus.encode(self._encoder)
        seconds = self._encoder.recall_seconds(texts)
        report = self._engine.index(texts, encoded.vectors, self._encoder.identity)
        return IndexReport(
            chunks=len(texts),
            seconds={**({} if seconds is None else {"embed": seconds}), **report.seconds},
            bytes=report.bytes,
            cached=(*(() if encoded.fresh else ("embed",)), *report.cached),
        )

    def search(self, query: str, depth: int) -> LegResult:
        """Return the engine's best `depth` chunks; a blank query matches none."""
        if not query.strip():
            return LegResult([], {"encode": 0.0, "search": 0.0})
        begin = time.perf_counter()
        vector = self._encode(query)
        encoded = time.perf_counter()
        with count_retries() as cost:
            candidates = self._ask(query, vector, depth)
        end = time.perf_counter()
        return LegResult(
            candidates,
            {
                "encode": (encoded - begin) * 1e3,
                "search": (end - encoded) * 1e3 - cost.milliseconds,
            },
            counts={"retries": cost.retries} if cost.retries else {},
            waited=cost.milliseconds,
        )

    def facts(self) -> Mapping[str, Any]:
        """The facts of the engine and of the encoder."""
        return {"engine": dict(self._engine.facts()), "encoder": dict(self._encoder.facts())}

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()

    def _encode(self, query: str) -> Vectors:
        return self._encoder.encode_query(query)

    @abstractmethod
    def _ask(self, query: str, vector: Vectors, depth: int) -> list[Scored]:
        """Return what the engine finds."""


class NativeHybridLeg(EngineLeg):
    """The engine's own fusion of its two lists."""

    def _ask(self, query: str, vector: Vectors, depth: int) -> list[Scored]:
        return self._engine.hybrid(query, vector, depth)


class EngineDenseLeg(EngineLeg):
    """The dense list alone."""

    def _ask(self, query: str, vector: Vectors, depth: int) -> list[Scored]:
        return self._engine.dense(vector, depth)


class EngineKeywordLeg(EngineLeg):
    """The keyword list alone, for which no query is encoded."""

    def _encode(self, query: str) -> Vectors:
        return NO_VECTOR

    def _ask(self, query: str, vector: Vectors, depth: int) -> list[Scored]:
        return self._engine.keyword(query, depth)


class EngineLegSettings(LegSettings):
    """What every leg inside an engine needs: the texts and vectors indexed are the same."""

    leg: ClassVar[type[EngineLeg]]
    engine: EngineSettings = Field(
        default_factory=QdrantEdgeSettings, description="the engine that indexes and searches"
    )
    encoder: AnyEncoder = Field(
        default_factory=EncoderSettings, description="the embedding model, or its name"
    )

    def build(self, workshop: Workshop) -> EngineLeg:
        """Return the leg, which has indexed nothing yet."""
        return self.leg(self.engine.build(workshop), self.encoder.build(workshop))


class NativeHybridSettings(EngineLegSettings):
    """An engine's own hybrid query: dense and keyword lists fused inside the engine."""

    kind: ClassVar[Kind] = "hybrid"
    leg = NativeHybridLeg
    in_engine: ClassVar[str] = "native_hybrid"
    type: Literal["native_hybrid"] = "native_hybrid"


class EngineDenseSettings(EngineLegSettings):
    """An engine's dense search alone."""

    kind: ClassVar[Kind] = "semantic"
    leg = EngineDenseLeg
    in_engine: ClassVar[str] = "engine_dense"
    type: Literal["engine_dense"]


class EngineKeywordSettings(EngineLegSettings):
    """An engine's keyword search alone."""

    kind: ClassVar[Kind] = "keyword"
    leg = EngineKeywordLeg
    in_engine: ClassVar[str] = "engine_keyword"
    type: Literal["engine_keyword"]
