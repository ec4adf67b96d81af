"""The pipeline: legs, fused into one list, then stages, every step timed and traced."""

import copy
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from retrievers.base import (
    Chunk,
    Document,
    Hit,
    IndexReport,
    Placed,
    Ranking,
    Retriever,
    StageTrace,
)
from retrievers.documents.preparation import DocumentSettings, prepare
from retrievers.fusion import FusionSettings
from retrievers.legs.base import Leg, LegResult
from retrievers.legs.dense import DenseLegSettings
from retrievers.legs.keyword import KeywordLegSettings
from retrievers.legs.native import NativeHybridSettings
from retrievers.ranking import Scored
from retrievers.settings import Settings, Workshop
from retrievers.stages.base import Stage
from retrievers.stages.rerank import RerankSettings

LegSettings = DenseLegSettings | KeywordLegSettings | NativeHybridSettings
StageSettings = RerankSettings


class PipelineSettings(Settings):
    """Legs, their fusion, and the stages after it."""

    type: Literal["pipeline"] = "pipeline"
    legs: dict[str, Annotated[LegSettings, Field(discriminator="type")]] = Field(
        min_length=1, description="the ranked lists that enter fusion, by a name of your choice"
    )
    fusion: Annotated[FusionSettings, Field(discriminator="type")] | None = Field(
        None, description="how several legs become one list; not allowed with a single leg"
    )
    stages: list[StageSettings] = Field(
        default_factory=list, description="what happens to the fused list, in this order"
    )

    @model_validator(mode="after")
    def _fits(self) -> "PipelineSettings":
        names = ", ".join(self.legs)
        if len(self.legs) > 1 and self.fusion is None:
            raise ValueError(f"fusion: missing; needed for more than one leg ({names})")
        if len(self.legs) == 1 and self.fusion is not None:
            raise ValueError(f"fusion: not allowed with the single leg {names}")
        if self.fusion and (unknown := self.fusion.weights.keys() - self.legs.keys()):
            raise ValueError(f"fusion.weights.{min(unknown)}: no such leg; allowed: {names}")
        return self

    def build(self, documents: DocumentSettings, workshop: Workshop) -> Retriever:
        """Return the retriever, not yet indexed."""
        return Pipeline(self, documents, workshop)


class Pipeline(Retriever):
    """Runs the legs one after the other, fuses what they find, and applies the stages."""

    volatile = False

    def __init__(
        self, settings: PipelineSettings, documents: DocumentSettings, workshop: Workshop
    ) -> None:
        self._settings = settings
        self._documents = documents
        self._workshop = workshop
        self._legs: dict[str, Leg] = {
            name: leg.build(workshop) for name, leg in settings.legs.items()
        }
        self._stages: list[tuple[str, Stage]] = [
            (stage.type, stage.build(workshop)) for stage in settings.stages
        ]
        self._chunks: Sequence[Chunk] = ()
        self._context_source = "none"

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Cut, contextualise and index `documents`."""
        prepared = prepare(documents, self._documents, self._workshop)
        self._chunks = prepared.chunks
        self._context_source = prepared.context_source
        seconds = {"chunk": prepared.seconds}
        cached = ["chunk"] if prepared.cached else []
        size = 0
        for name, leg in self._legs.items():
            report = leg.index(self._chunks)
            seconds |= {f"{name}.{step}": taken for step, taken in report.seconds.items()}
            cached += [f"{name}.{step}" for step in report.cached]
            size += report.bytes
        return IndexReport(len(self._chunks), seconds, size, tuple(cached), prepared.facts)

    def search(self, query: str, k: int) -> Ranking:
        """Return at most `k` hits with the trace of every step."""
        trace: list[StageTrace] = []
        results = {}
        for name, leg in self._legs.items():
            results[name] = leg.search(query, self._settings.legs[name].depth)
            trace += self._trace_leg(name, results[name])
        begin = time.perf_counter()
        fused = self._fuse({name: result.candidates for name, result in results.items()})
        hits = fused_hits = self._hits(fused, results)
        if self._settings.fusion:
            trace.append(self._trace("fusion", "fusion", begin, hits))
        for name, stage in self._stages:
            begin = time.perf_counter()
            result = stage.apply(query, hits)
            hits = result.hits
            trace.append(self._trace(name, "stage", begin, hits, result.note))
        returned = {hit.chunk.id for hit in hits[:k]}
        others = (hit.chunk for hit in fused_hits if hit.chunk.id not in returned)
        return Ranking(tuple(hits[:k]), tuple(trace), tuple(others))

    def timed(self) -> "Pipeline":
        """The same pipeline, on the same indexes, with every per-query cache off."""
        other = copy.copy(self)
        other._stages = [(name, stage.timed()) for name, stage in self._stages]
        return other

    def facts(self) -> Mapping[str, Any]:
        """The source of contexts, and the facts of each leg and stage."""
        legs = {name: leg.facts() for name, leg in self._legs.items()}
        stages = [{"type": name, **stage.facts()} for name, stage in self._stages]
        return {"context_source": self._context_source, "legs": legs, "stages": stages}

    def close(self) -> None:
        """Close every leg."""
        for leg in self._legs.values():
            leg.close()

    def _fuse(self, candidates: Mapping[str, Sequence[Scored]]) -> Sequence[Scored]:
        if self._settings.fusion:
            return self._settings.fusion.fuse(candidates)
        return next(iter(candidates.values()))

    def _hits(self, fused: Sequence[Scored], results: Mapping[str, LegResult]) -> list[Hit]:
        placed: dict[int, dict[str, Placed]] = {position: {} for position, _ in fused}
        for name, result in results.items():
            for rank, (position, score) in enumerate(result.candidates, start=1):
                placed[position][name] = Placed(rank, score)
        return [Hit(self._chunks[position], score, placed[position]) for position, score in fused]

    def _trace_leg(self, name: str, result: LegResult) -> list[StageTrace]:
        *before, (_, last) = result.milliseconds.items()
        candidates = tuple((self._chunks[at].id, score) for at, score in result.candidates)
        return [
            *(StageTrace(f"{name}.{step}", "query", taken) for step, taken in before),
            StageTrace(name, "leg", last, candidates),
        ]

    @staticmethod
    def _trace(
        name: str, kind: str, begin: float, hits: Sequence[Hit], note: str = ""
    ) -> StageTrace:
        milliseconds = (time.perf_counter() - begin) * 1000
        candidates = tuple((hit.chunk.id, hit.score) for hit in hits)
        return StageTrace(name, kind, milliseconds, candidates, note)
