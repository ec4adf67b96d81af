"""The pipeline: query steps, legs, fusion, stages; every one timed and traced."""

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from retrievers import telemetry
from retrievers.base import (
    AssayError,
    Chunk,
    Document,
    Hit,
    IndexReport,
    Placed,
    Ranking,
    Retriever,
    StageTrace,
)
from retrievers.corpus import Corpus
from retrievers.documents.preparation import DocumentSettings, Prepared, prepare
from retrievers.legs.base import Leg, LegResult
from retrievers.legs.registry import LegSettings
from retrievers.query.base import QueryStep, Request
from retrievers.query_cache import Answers
from retrievers.ranking import Scored
from retrievers.recipe import PipelineSettings
from retrievers.settings import Workshop
from retrievers.stages.base import Stage


class Parts:
    """Where a pipeline gets what takes long to make: here it is made for this pipeline alone."""

    def prepare(
        self, documents: Sequence[Document], settings: DocumentSettings, workshop: Workshop
    ) -> tuple[Prepared, Corpus]:
        """Return the chunks of `documents` as they were prepared and as a corpus."""
        prepared = prepare(documents, settings, workshop)
        return prepared, Corpus(prepared.chunks, documents)

    def build_leg(self, settings: LegSettings, workshop: Workshop) -> Leg:
        """Return a leg, not yet indexed."""
        return settings.build(workshop)


class Pipeline(Retriever):
    """Asks the legs one after the other, fuses what they find, and applies the stages.

    A keyword leg that cannot be built or asked is left out where a semantic leg remains; the
    ranking says so.
    """

    nondeterministic = False

    def __init__(
        self,
        settings: PipelineSettings,
        documents: DocumentSettings,
        workshop: Workshop,
        parts: Parts | None = None,
    ) -> None:
        telemetry.start(workshop.progress)
        self._parts = parts or Parts()
        self._settings = settings
        self._documents = documents
        self._workshop = workshop
        self._legs: dict[str, Leg] = {
            name: self._parts.build_leg(leg, workshop) for name, leg in settings.active.items()
        }
        kinds = {name: leg.kind for name, leg in settings.active.items()}
        self._steps: list[tuple[str, QueryStep]] = [
            (step.type, step.build(workshop, kinds)) for step in settings.query
        ]
        self._stages: list[tuple[str, Stage]] = [
            (stage.type, stage.build(workshop)) for stage in settings.stages
        ]
        self._answers = Answers(settings.cache.build(workshop)) if settings.cache else None
        self._corpus = Corpus(())
        self._down: dict[str, str] = {}
        self._context_source = "none"

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Cut, contextualise and index `documents`."""
        prepared, self._corpus = self._parts.prepare(documents, self._documents, self._workshop)
        self._context_source = prepared.context_source
        self._down = {}
        seconds = {"chunk": prepared.seconds}
        cached = ["chunk"] if prepared.cached else []
        size = 0
        for name, leg in self._legs.items():
            try:
                report = leg.index(self._corpus)
            except Exception as error:
                self._down[name] = self._do_without(name, "built", error)
                self._workshop.progress.say(f"warning: {self._down[name]}")
                continue
            seconds |= {f"{name}.{step}": taken for step, taken in report.seconds.items()}
            cached += [f"{name}.{step}" for step in report.cached]
            size += report.bytes
        for _, step in self._steps:
            step.index(self._corpus)
        for _, stage in self._stages:
            stage.index(self._corpus, self._top())
        if self._answers:
            recipe = self._settings.model_dump(mode="json", exclude={"cache"})
            cutting = self._documents.model_dump(mode="json")
            self._answers.index(self._corpus, [recipe, cutting, self.facts()])
        return IndexReport(len(self.list_chunks()), seconds, size, tuple(cached), prepared.facts)

    def search(self, query: str, k: int) -> Ranking:
        """Return at most `k` hits with the trace of every step.

        A ranking from the query cache has the trace of the search that it was found by.
        """
        if telemetry.tracer is None:
            return self._answer(query, k)[0]
        begin = time.time_ns()
        ranking, cached = self._answer(query, k)
        size, end = len(self._corpus.chunks), time.time_ns()
        telemetry.record(
            telemetry.Search(self._settings, size, query, k, begin, end, cached), ranking
        )
        return ranking

    def _answer(self, query: str, k: int) -> tuple[Ranking, bool]:
        """Return the ranking, and whether it was in the query cache."""
        # What a pipeline with a fault answers is no answer for those without.
        if self._answers is None or self._down:
            return self._search(query, k), False
        key = self._answers.key(query, k)
        known = self._answers.find(key)
        if known is not None:
            return known, True
        ranking = self._search(query, k)
        self._answers.keep(key, ranking)
        return ranking, False

    def _search(self, query: str, k: int) -> Ranking:
        trace: list[StageTrace] = []
        request = self._ask(query, trace)
        down = dict(self._down)
        results = self._search_legs(request, trace, down)
        begin = time.perf_counter()
        hits = self._hits(self._fuse(results, request.factors), results)
        named = {hit.chunk.id: hit.chunk for hit in hits}
        if self._settings.fusion:
            trace.append(_entry("fusion", "fusion", begin, hits))
        for name, stage in self._stages:
            begin = time.perf_counter()
            result = stage.apply(request.text, hits)
            hits = result.hits
            named |= {hit.chunk.id: hit.chunk for hit in hits}
            trace.append(_entry(name, "stage", begin, hits, result.note, result.counts))
        returned = {hit.chunk.id for hit in hits[:k]}
        others = (chunk for id_, chunk in named.items() if id_ not in returned)
        return Ranking(tuple(hits[:k]), tuple(trace), tuple(others), tuple(down.values()))

    def timed(self) -> "Pipeline":
        """The same pipeline, on the same indexes, with every per-query cache off."""
        other = copy.copy(self)
        other._legs = {name: leg.timed() for name, leg in self._legs.items()}
        other._steps = [(name, step.timed()) for name, step in self._steps]
        other._stages = [(name, stage.timed()) for name, stage in self._stages]
        other._answers = None
        return other

    def list_chunks(self) -> Sequence[Chunk]:
        """Return every chunk, in descending order of id."""
        return self._corpus.chunks

    def probe(self, query: str, depth: int) -> Mapping[str, Sequence[str]]:
        """Return each leg's list of chunk ids to `depth`."""
        results = self._search_legs(self._ask(query, []), [], dict(self._down), depth)
        chunks = self._corpus.chunks
        return {
            name: [chunks[at].id for at, _ in result.candidates] for name, result in results.items()
        }

    def facts(self) -> Mapping[str, Any]:
        """The source of contexts, and the facts of each leg and stage."""
        legs = {name: leg.facts() for name, leg in self._legs.items()}
        steps = [{"type": name, **step.facts()} for name, step in self._steps]
        stages = [{"type": name, **stage.facts()} for name, stage in self._stages]
        query = {"query": steps} if steps else {}
        return {"context_source": self._context_source, **query, "legs": legs, "stages": stages}

    def close(self) -> None:
        """Close every leg and the query cache."""
        for leg in self._legs.values():
            leg.close()
        if self._answers:
            self._answers.close()

    def _ask(self, query: str, trace: list[StageTrace]) -> Request:
        """Return the request that the query steps make of `query`."""
        request = Request(query)
        for name, step in self._steps:
            begin = time.perf_counter()
            result = step.apply(request)
            request = result.request
            trace.append(_entry(name, "query", begin, (), result.note, result.counts))
        return request

    def _search_legs(
        self,
        request: Request,
        trace: list[StageTrace],
        down: dict[str, str],
        depth: int | None = None,
    ) -> dict[str, LegResult]:
        """Return what each leg finds, to its own depth or to `depth`."""
        results: dict[str, LegResult] = {}
        found: dict[str, Sequence[Scored]] = {}
        for name, leg in self._legs.items():
            if name in down:
                continue
            wanted = depth or self._settings.legs[name].depth
            # What may not be found is dropped from the full list, so that depth stays depth.
            asked = wanted if request.allowed is None else len(self._corpus.chunks)
            try:
                result = leg.follow(request.ask(name), asked, found)
            except Exception as error:
                down[name] = self._do_without(name, "asked", error)
                continue
            if request.allowed is not None:
                kept = [scored for scored in result.candidates if scored[0] in request.allowed]
                result = replace(result, candidates=kept[:wanted])
            results[name] = result
            found[name] = result.candidates
            trace += self._trace_leg(name, result)
        return results

    def _fuse(
        self, results: Mapping[str, LegResult], factors: Mapping[str, float]
    ) -> Sequence[Scored]:
        candidates = {name: result.candidates for name, result in results.items()}
        if self._settings.fusion:
            return self._settings.fusion.fuse(candidates, factors)
        return next(iter(candidates.values()))

    def _hits(self, fused: Sequence[Scored], results: Mapping[str, LegResult]) -> list[Hit]:
        placed: dict[int, dict[str, Placed]] = {position: {} for position, _ in fused}
        for name, result in results.items():
            for rank, (position, score) in enumerate(result.candidates, start=1):
                placed[position][name] = Placed(rank, score)
        chunks = self._corpus.chunks
        return [Hit(chunks[position], score, placed[position]) for position, score in fused]

    def _top(self) -> float:
        fusion = self._settings.fusion
        legs = self._legs.keys() - self._down.keys()
        return fusion.top(legs - fusion.boosts.keys()) if fusion else 1.0

    def _do_without(self, name: str, what: str, error: Exception) -> str:
        """Return in words that the pipeline does without a leg that cannot be built or asked.

        Raises what goes wrong unless it is a keyword leg and there is a semantic one.
        """
        if self._settings.legs[name].kind != "keyword":
            raise error
        reason = " ".join(str(error).split()) or type(error).__name__
        problem = f"the keyword leg {name} cannot be {what}: {reason}"
        if all(leg.kind != "semantic" for leg in self._settings.active.values()):
            raise AssayError(f"{problem}; there is no semantic leg to search with") from error
        return f"{problem}; searched without it"

    def _trace_leg(self, name: str, result: LegResult) -> list[StageTrace]:
        *before, (_, last) = result.milliseconds.items()
        chunks = self._corpus.chunks
        candidates = tuple((chunks[at].id, score) for at, score in result.candidates)
        return [
            *(StageTrace(f"{name}.{step}", "query", taken) for step, taken in before),
            StageTrace(name, "leg", last, candidates, result.note, result.counts, result.waited),
        ]


def _entry(
    name: str,
    kind: str,
    begin: float,
    hits: Sequence[Hit],
    note: str = "",
    counts: Mapping[str, int] | None = None,
) -> StageTrace:
    milliseconds = (time.perf_counter() - begin) * 1000
    candidates = tuple((hit.chunk.id, hit.score) for hit in hits)
    return StageTrace(name, kind, milliseconds, candidates, note, counts or {})
