"""Legs inside an engine: its own hybrid query, and its dense and its keyword search alone."""

import copy
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from assay.retrievers.base import IndexReport
from assay.retrievers.base.stopwatch import Stopwatch
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.capabilities import Search
from assay.retrievers.engines.registry import EngineSettings
from assay.retrievers.engines.stores.qdrant_edge import QdrantEdgeSettings
from assay.retrievers.fusion.ranking import Positions, Scored
from assay.retrievers.legs.base import Kind, Leg, LegResult, LegSettings
from assay.retrievers.legs.truncation import find_bill
from assay.retrievers.legs.windows import WINDOWS, Windows, encode_parts
from assay.retrievers.models.base import Vectors
from assay.retrievers.models.caching import CachingEncoder, EncodedTexts
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.models.registry import AnyEncoder
from assay.retrievers.services import cost_meter as charges
from assay.retrievers.services.retries import count_retries
from assay.retrievers.settings import Resources

NO_VECTOR = np.empty(0, np.float32)


class EngineLeg(Leg):
    """Hands the engine texts and their vectors; the engine searches them."""

    def __init__(self, engine: Engine, encoder: CachingEncoder) -> None:
        self._engine = engine
        self._encoder = encoder

    def index(self, corpus: Corpus) -> IndexReport:
        """Encode the chunks and index texts and vectors in the engine."""
        texts = corpus.texts
        encoded = corpus.encode(self._encoder)
        identity = self._encoder.identity
        self._engine.relate(corpus.by_document)
        report = self._engine.index(corpus.texts, encoded.vectors, identity)
        return self._report(report, corpus, encoded, texts)

    def _report(
        self, report: IndexReport, corpus: Corpus, encoded: EncodedTexts, texts: Sequence[str]
    ) -> IndexReport:
        """Return the engine's report, with the time and cost of encoding `texts`."""
        seconds = self._encoder.recall_seconds(texts)
        return IndexReport(
            chunks=len(corpus.chunks),
            seconds={**({} if seconds is None else {"embed": seconds}), **report.seconds},
            bytes=report.bytes,
            cached=(*(() if encoded.fresh else ("embed",)), *report.cached),
            facts=find_bill(self._encoder, texts),
        )

    @property
    def nondeterministic(self) -> bool:  # type: ignore[override]
        """True if the engine's index may give other lists when it is rebuilt."""
        return not self._engine.reproducible

    def search(self, query: str, depth: int) -> LegResult:
        """Return the engine's best `depth` chunks; a blank query matches none."""
        return self.search_near(query, (), depth)

    def search_near(self, query: str, passages: Sequence[str], depth: int) -> LegResult:
        """Return the engine's best, by the mean of the vectors of query and `passages`."""
        if not query.strip():
            return LegResult([], {"encode": 0.0, "search": 0.0})
        watch = Stopwatch()
        with charges.watch() as watched:
            vector = self._encode(query, passages)
        watch.stop("encode", watched.waited)
        with count_retries() as cost:
            candidates = self._ask(query, vector, depth)
        watch.stop("search", cost.milliseconds)
        retries = watched.retried.retries + cost.retries
        return LegResult(
            candidates,
            watch.wall,
            counts={**watched.counts, **({"retries": retries} if retries else {})},
            waited=watched.waited + cost.milliseconds,
            cpu=watch.cpu,
        )

    def restrict(self, allowed: Positions) -> Leg | None:
        """Return the leg on the same index, if the engine can skip texts during a search."""
        engine = self._engine.restrict(allowed)
        if engine is None:
            return None
        other = copy.copy(self)
        other._engine = engine
        return other

    def beside(self, positions: Sequence[int]) -> list[list[int]] | None:
        """Return the chunks before and after each of `positions`, as the engine stores them."""
        return self._engine.beside(positions)

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the engine and of the encoder."""
        return {"engine": dict(self._engine.metadata()), "encoder": dict(self._encoder.metadata())}

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()

    def _encode(self, query: str, passages: Sequence[str]) -> Vectors:
        return self._encoder.encode_near(query, passages)

    @abstractmethod
    def _ask(self, query: str, vector: Vectors, depth: int) -> list[Scored]:
        """Return the results of the engine."""


class NativeHybridLeg(EngineLeg):
    """The engine's own fusion of its two lists."""

    def _ask(self, query: str, vector: Vectors, depth: int) -> list[Scored]:
        return self._engine.hybrid(query, vector, depth)


class EngineDenseLeg(EngineLeg):
    """The dense list alone; a chunk that is read in parts has the score of its best part."""

    def __init__(
        self, engine: Engine, encoder: CachingEncoder, windows: Windows, resources: Resources
    ) -> None:
        super().__init__(engine, encoder)
        self._windows = windows
        self._resources = resources
        # The row of the engine at which each chunk begins, where some chunk has several.
        self._starts: NDArray[np.intp] | None = None
        self._rows = 0

    def index(self, corpus: Corpus) -> IndexReport:
        """Encode the chunks, or their parts, and index texts and vectors in the engine."""
        self._starts = None
        read = encode_parts(corpus, self._encoder, self._windows, self._resources)
        self._rows = len(read.encoded.vectors)
        if read.starts is None and not read.averaged:
            return super().index(corpus)
        self._starts = read.starts
        identity = self._encoder.identity
        if read.averaged:
            identity = f"{identity}, means of parts"
            self._engine.relate(corpus.by_document)
        texts = corpus.texts if read.averaged else read.texts
        report = self._engine.index(texts, read.encoded.vectors, identity)
        return self._report(report, corpus, read.encoded, read.texts)

    def restrict(self, allowed: Positions) -> Leg | None:
        """Return the same leg, for the parts of the chunks at `allowed`."""
        if self._starts is None:
            return super().restrict(allowed)
        ends = np.append(self._starts[1:], self._rows)
        rows = [np.arange(self._starts[i], ends[i]) for i in allowed]
        return super().restrict(np.concatenate(rows) if rows else allowed)

    def _ask(self, query: str, vector: Vectors, depth: int) -> list[Scored]:
        if self._starts is None:
            return self._engine.dense(vector, depth)
        asked = 2 * depth
        while True:
            rows = self._engine.dense(vector, asked)
            chunks: dict[int, float] = {}
            for row, score in rows:
                chunk = int(np.searchsorted(self._starts, row, "right")) - 1
                chunks.setdefault(chunk, score)
            if len(chunks) >= depth or len(rows) < asked:
                return list(chunks.items())[:depth]
            asked *= 2


class EngineKeywordLeg(EngineLeg):
    """The keyword list alone, for which no query is encoded."""

    def _encode(self, query: str, passages: Sequence[str]) -> Vectors:
        return NO_VECTOR

    def _ask(self, query: str, vector: Vectors, depth: int) -> list[Scored]:
        return self._engine.keyword(query, depth)


class LoneKeywordLeg(EngineKeywordLeg):
    """The keyword list of an engine that has no other: nothing is encoded."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def index(self, corpus: Corpus) -> IndexReport:
        """Index the texts in the engine."""
        texts = corpus.texts
        self._engine.relate(corpus.by_document)
        return self._engine.index(texts, np.empty((len(texts), 0), np.float32), "")

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the engine."""
        return {"engine": dict(self._engine.metadata())}


class EngineLegSettings(LegSettings):
    """The part that all legs inside an engine share: the texts and vectors indexed are the same."""

    leg: ClassVar[type[EngineLeg]]
    search: ClassVar[Search]
    engine: EngineSettings = Field(
        default_factory=QdrantEdgeSettings, description="the engine that indexes and searches"
    )
    encoder: AnyEncoder = Field(
        default_factory=EncoderSettings, description="the embedding model, or its name"
    )

    @model_validator(mode="after")
    def _engine_has_it(self) -> "EngineLegSettings":
        if self.search not in self.engine.searches:
            raise ValueError(self.engine.describe_lack(self.search))
        return self

    def build(self, resources: Resources) -> EngineLeg:
        """Return the leg, which has indexed nothing yet."""
        return self.leg(self.engine.build(resources), self.encoder.build(resources))


class NativeHybridSettings(EngineLegSettings):
    """An engine's own hybrid query: dense and keyword lists fused inside the engine."""

    kind: ClassVar[Kind] = "hybrid"
    by_vector: ClassVar[bool] = True
    leg = NativeHybridLeg
    search: ClassVar[Search] = "hybrid"
    type: Literal["native_hybrid"] = "native_hybrid"


class EngineDenseSettings(EngineLegSettings):
    """An engine's dense search alone."""

    kind: ClassVar[Kind] = "semantic"
    by_vector: ClassVar[bool] = True
    leg = EngineDenseLeg
    search: ClassVar[Search] = "dense"
    type: Literal["engine_dense"]
    windows: Windows = WINDOWS

    @property
    def cuts_short(self) -> bool:
        """Not where chunks are read in parts."""
        return self.windows == "none"

    def build(self, resources: Resources) -> EngineLeg:
        """Return the leg, which has indexed nothing yet."""
        engine, encoder = self.engine.build(resources), self.encoder.build(resources)
        return EngineDenseLeg(engine, encoder, self.windows, resources)


class EngineKeywordSettings(EngineLegSettings):
    """An engine's keyword search alone."""

    kind: ClassVar[Kind] = "keyword"
    leg = EngineKeywordLeg
    search: ClassVar[Search] = "keyword"
    type: Literal["engine_keyword"]

    @property
    def cuts_short(self) -> bool:
        """True if texts are encoded at all: not for a store that offers no hybrid search."""
        return "hybrid" in self.engine.searches

    def build(self, resources: Resources) -> EngineLeg:
        """Return the leg, which has indexed nothing yet; only some engines need vectors."""
        if self.cuts_short:
            return super().build(resources)
        return LoneKeywordLeg(self.engine.build(resources))
