"""The pipeline: query steps, legs, fusion, stages, each timed and traced."""

import copy
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from assay.retrievers.base import (
    CUT,
    Chunk,
    Document,
    Hit,
    IndexReport,
    MetadataFilter,
    Ranking,
    Retriever,
    StageTrace,
)
from assay.retrievers.base.stopwatch import Stopwatch
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import DocumentSettings, PreparedDocuments, prepare
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.legs.base import Leg, LegResult, LegSettings
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.legs.leg_set import LegGroup
from assay.retrievers.legs.truncation import count_unread, find_window, list_encoders
from assay.retrievers.models.tokens import Tokenizer
from assay.retrievers.pipeline import telemetry
from assay.retrievers.pipeline.permissions import MOST, Allowed, Permissions, View, ViewStep
from assay.retrievers.pipeline.query_cache import Answers
from assay.retrievers.pipeline.shape import PipelineShape
from assay.retrievers.query.base import QueryStep, QueryStepSettings
from assay.retrievers.services import cost_meter as charges
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.settings.parts import find_plugged, find_source, find_sources
from assay.retrievers.stages.base import Stage

REVISION = 1  # raise it when the same config comes to give other rankings
NamedStep = tuple[str, QueryStep]
NamedStage = tuple[str, Stage]


class PipelineSettings(PipelineShape):
    """Query steps, legs, their fusion, and the stages after it."""

    def build(self, documents: DocumentSettings, resources: Resources) -> "Pipeline":
        """Return the retriever, not yet indexed."""
        return Pipeline(self, documents, resources)


class Parts:
    """Builds a pipeline's parts that take long to make, here for this pipeline alone."""

    def prepare(
        self, documents: Sequence[Document], settings: DocumentSettings, resources: Resources
    ) -> tuple[PreparedDocuments, Corpus]:
        """Return the chunks of `documents` as they were prepared and as a corpus."""
        prepared = prepare(documents, settings, resources)
        return prepared, Corpus(prepared.chunks, documents)

    def build_leg(self, settings: LegSettings, resources: Resources) -> Leg:
        """Return a leg, not yet indexed."""
        return settings.build(resources)


class Pipeline(Retriever):
    """Searches the legs one after the other, fuses their lists, and applies the stages.

    A keyword leg that cannot be built or asked is left out where a semantic leg remains; the
    ranking says so.
    """

    def __init__(
        self,
        settings: PipelineShape,
        documents: DocumentSettings,
        resources: Resources,
        parts: Parts | None = None,
    ) -> None:
        telemetry.start(resources.progress)
        for doubt in settings.doubt_weights() if parts is None else ():
            resources.progress.say(f"warning: {doubt}")
        self._parts = parts or Parts()
        self._settings = settings
        self._documents = documents
        self._resources = resources
        self._legs = LegGroup(settings.active, lambda leg: self._parts.build_leg(leg, resources))
        self._steps: list[NamedStep] = [
            (step.type, self._build_step(step)) for step in settings.query
        ]
        self._stages: list[NamedStage] = [
            (stage.type, stage.build(resources)) for stage in settings.stages
        ]
        self._answers = Answers(settings.cache.build(resources)) if settings.cache else None
        self._plan = telemetry.SearchPlan(
            mode=settings.mode,
            provider=next((leg.provider for leg in settings.active.values() if leg.provider), ""),
            legs={name: (leg.kind, leg.type) for name, leg in settings.active.items()},
            fusion=settings.fusion.type if settings.fusion else "",
        )
        self._corpus = Corpus(())
        self._permissions = Permissions(self._corpus)
        self._allowed: Allowed | None = None
        self._restricted: dict[str, tuple[list[NamedStep], list[NamedStage]]] = {}
        self._context_source = "none"

    @property
    def nondeterministic(self) -> bool:  # type: ignore[override]
        """True if a leg's index may give other lists when it is rebuilt."""
        return self._legs.nondeterministic

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Cut, contextualise and index `documents`."""
        return self.index_prepared(
            *self._parts.prepare(documents, self._documents, self._resources)
        )

    def index_prepared(self, prepared: PreparedDocuments, corpus: Corpus) -> IndexReport:
        """Index documents that are `prepared` by this pipeline's settings, and are a `corpus`."""
        self._corpus = corpus
        self._context_source = prepared.context_source
        self._permissions = Permissions(self._corpus)
        self._restricted = {}
        say = self._resources.progress.say
        report = self._legs.index(self._corpus, lambda problem: say(f"warning: {problem}"))
        for _, step in self._steps:
            step.index(self._corpus)
        for _, stage in self._stages:
            stage.index(self._corpus, self._top())
            stage.link(self._legs.beside)
        if self._answers:
            recipe = self._settings.model_dump(mode="json", exclude={"cache"})
            cutting = self._documents.model_dump(mode="json")
            self._answers.index(self._corpus, [REVISION, recipe, cutting, self.metadata()])
        return replace(
            report,
            seconds={"chunk": prepared.seconds, **report.seconds},
            cached=(*(["chunk"] if prepared.cached else []), *report.cached),
            facts={**prepared.facts, **self._count_unread(), **report.facts},
        )

    def search(self, query: str, k: int) -> Ranking:
        """Return at most `k` hits with the trace of every step.

        A ranking from the query cache has the trace of the search that it was found by.
        """
        if telemetry.tracer is None:
            return self._answer(query, k)[0]
        begin = time.time_ns()
        ranking, cached = self._answer(query, k)
        size, end = len(self._corpus.chunks), time.time_ns()
        search = telemetry.Search(self._plan, size, query, k, begin, end, cached)
        telemetry.record(search, ranking)
        return ranking

    def _answer(self, query: str, k: int) -> tuple[Ranking, bool]:
        """Return the ranking, and whether it was in the query cache."""
        # What a pipeline with a fault answers is no answer for those without.
        if self._answers is None or self._legs.down:
            return self._search(query, k), False
        key = self._answers.key(query, k, self._allowed.key if self._allowed else "")
        known = self._answers.find(key)
        if known is not None:
            return known, True
        ranking = self._search(query, k)
        self._answers.keep(key, ranking)
        return ranking, False

    def search_plain(self, query: str, k: int) -> Ranking:
        """Search as `search` does; without stages, hits have only their chunk and score."""
        if self._stages or self._answers or telemetry.tracer:
            return self.search(query, k)
        trace: list[StageTrace] = []
        request, degraded = self._ask(query, trace)
        down = dict(self._legs.down)
        results = self._legs.search(request, down)
        trace += self._legs.trace(results, named=False)
        hits = self._legs.rank(self._fuse(results, request.factors)[:k])
        return Ranking(hits, tuple(trace), (), (*degraded, *down.values()))

    def _search(self, query: str, k: int) -> Ranking:
        trace: list[StageTrace] = []
        request, degraded = self._ask(query, trace)
        down = dict(self._legs.down)
        results = self._legs.search(request, down)
        trace += self._legs.trace(results)
        watch = Stopwatch()
        fused = self._fuse(results, request.factors)
        hits = self._pin(fused, self._legs.place(fused, results), results)
        named = {hit.chunk.id: hit.chunk for hit in hits}
        if self._settings.fusion:
            trace.append(_entry("fusion", "fusion", watch, hits))
        for name, stage in self._stages:
            watch = Stopwatch()
            with charges.watch() as watched:
                result = stage.follow(request.text, request.expansion, hits)
            hits = result.hits
            named |= {hit.chunk.id: hit.chunk for hit in hits}
            trace.append(_entry(name, "stage", watch, hits, result.note, result.counts, watched))
        others: tuple[Chunk, ...] = ()
        if len(named) > len(hits[:k]):
            returned = {hit.chunk.id for hit in hits[:k]}
            others = tuple(chunk for id_, chunk in named.items() if id_ not in returned)
        return Ranking(tuple(hits[:k]), tuple(trace), others, (*degraded, *down.values()))

    def restrict(self, allowed: MetadataFilter) -> "Pipeline":
        """Return the pipeline on the same indexes, finding only the chunks that `allowed` permits.

        Its steps and stages know of no other document. The result is remembered for each filter.
        """
        other = copy.copy(self)
        found = self._permissions.find(allowed)
        other._allowed = found = found if self._allowed is None else self._allowed & found
        if found.key not in self._restricted:
            if len(self._restricted) >= MOST:
                self._restricted.clear()
            self._restricted[found.key] = self._restrict(found)
        other._steps, other._stages = self._restricted[found.key]
        return other

    def _restrict(self, allowed: Allowed) -> "tuple[list[NamedStep], list[NamedStage]]":
        """Return steps and stages that know of the allowed documents only.

        Plug-ins that learn of the corpus, and do not define `restrict`, are made again.
        """
        view = View(self._corpus, allowed)
        steps = [(name, step.restrict(allowed.documents)) for name, step in self._steps]
        for i, settings in enumerate(self._settings.query):
            name, step = self._steps[i]
            if find_source(settings) and _learns(step, QueryStep):
                steps[i] = name, ViewStep(self._build_step(settings).without_query_cache(), view)
        stages = [(name, stage.restrict(allowed.documents)) for name, stage in self._stages]
        for i, recipe in enumerate(self._settings.stages):
            name, stage = self._stages[i]
            if find_source(recipe) and _learns(stage, Stage):
                made = recipe.build(self._resources).without_query_cache()
                made.index(view.corpus, self._top())
                made.link(self._legs.beside)
                stages[i] = name, made
        return steps, stages

    def _build_step(self, settings: QueryStepSettings) -> QueryStep:
        kinds = {name: leg.kind for name, leg in self._settings.active.items()}
        return settings.build(self._resources, kinds)

    def without_query_cache(self) -> "Pipeline":
        """Return the same pipeline, on the same indexes, with every per-query cache off."""
        other = copy.copy(self)
        other._legs = self._legs.without_query_cache()
        other._steps = [(name, step.without_query_cache()) for name, step in self._steps]
        other._stages = [(name, stage.without_query_cache()) for name, stage in self._stages]
        other._answers = None
        other._restricted = {}
        return other

    def list_chunks(self) -> Sequence[Chunk]:
        """Return every chunk, in descending order of id."""
        return self._corpus.chunks

    def probe(self, query: str, depth: int) -> Mapping[str, Sequence[str]]:
        """Return each leg's list of chunk ids to `depth`."""
        request, _ = self._ask(query, [])
        results = self._legs.search(request, dict(self._legs.down), depth)
        return {name: self._corpus.name(result.candidates) for name, result in results.items()}

    def metadata(self) -> Mapping[str, Any]:
        """Return the source of contexts, facts of legs and stages, and digests of plug-ins."""
        sources = find_sources({"documents": self._documents, "retriever": self._settings})
        steps = [{"type": name, **step.metadata()} for name, step in self._steps]
        stages = [{"type": name, **stage.metadata()} for name, stage in self._stages]
        query = {"query": steps} if steps else {}
        return {
            "context_source": self._context_source,
            **query,
            "legs": self._legs.metadata(),
            "stages": stages,
            **({"sources": sources} if sources else {}),
        }

    @property
    def asks_server(self) -> bool:
        """True if one of the pipeline's parts asks a server."""
        return self._settings.uses_server()

    def list_foreign(self) -> Collection[str]:
        """Return the names of the trace's entries that are plugged in, and `documents` for parts
        that make chunks.
        """
        parts: list[tuple[str, Settings]] = [("documents", self._documents)]
        parts += self._settings.active.items()
        parts += [(step.type, step) for step in self._settings.query]
        parts += [(stage.type, stage) for stage in self._settings.stages]
        return {name for name, part in parts if any(find_plugged(part))}

    def close(self) -> None:
        """Close every leg and the query cache."""
        self._legs.close()
        if self._answers:
            self._answers.close()

    def _count_unread(self) -> Mapping[str, Any]:
        """Return the window of the legs' encoders, if any, and how many chunks exceed it."""
        if self._window is None:
            return {}
        unread = count_unread(self._corpus.texts, self._window, self._tokenizer)
        return {"window": self._window, "unread": unread}

    @cached_property
    def _window(self) -> int | None:
        """The number of tokens that every encoder reads of a text; None if none states it."""
        legs = (leg for leg in self._settings.active.values() if leg.cuts_short)
        return find_window(list_encoders([*legs, *self._settings.stages], self._resources))

    @cached_property
    def _query_window(self) -> int | None:
        """The same as `_window` for a query, which no leg reads in parts."""
        parts = [*self._settings.active.values(), *self._settings.stages]
        return find_window(list_encoders(parts, self._resources))

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(self._documents.tokenizer, self._resources)

    def _ask(self, query: str, trace: list[StageTrace]) -> tuple[LegQuery, list[str]]:
        """Return the request that the query steps make of `query`, and their failures in words."""
        request = LegQuery(query)
        degraded: list[str] = []
        if self._allowed is not None:
            request = LegQuery(query, allowed=self._allowed.positions)
            trace.append(StageTrace("restriction", "query", 0.0, counts=self._allowed.counts))
        for name, step in self._steps:
            watch = Stopwatch()
            with charges.watch() as watched:
                result = step.apply(request)
            request = result.request
            degraded += [result.degraded] if result.degraded else []
            trace.append(_entry(name, "query", watch, (), result.note, result.counts, watched))
        if count_unread([request.text], self._query_window, self._tokenizer):
            told = f"encoders read {self._query_window:,} tokens of the query"
            trace.append(StageTrace("query", "query", 0.0, note=told, counts={CUT: 1}))
        return request, degraded

    def _fuse(
        self, results: Mapping[str, LegResult], factors: Mapping[str, float]
    ) -> Sequence[Scored]:
        candidates = {name: result.candidates for name, result in results.items()}
        if self._settings.fusion:
            unboosted = {name: result.unboosted for name, result in results.items()}
            return self._settings.fusion.fuse(candidates, factors, unboosted)
        return next(iter(candidates.values()))

    def _pin(
        self, fused: Sequence[Scored], hits: Sequence[Hit], results: Mapping[str, LegResult]
    ) -> Sequence[Hit]:
        """Return `hits`, with those pinned that a boost puts before all hits of other legs."""
        fusion = self._settings.fusion
        if not fusion or not fusion.boosts:
            return hits
        top, marked = self._top(), []
        for (position, _), hit in zip(fused, hits, strict=True):
            held = hit.legs.items()
            ranks = {i: leg.rank for i, leg in held if position not in results[i].unboosted}
            marked.append(replace(hit, pinned=fusion.lifts(ranks, top)))
        return marked

    def _top(self) -> float:
        fusion = self._settings.fusion
        legs = self._settings.active.keys() - self._legs.down.keys()
        return fusion.top(legs - fusion.boosts.keys()) if fusion else 1.0


def _learns(part: QueryStep | Stage, base: type[QueryStep | Stage]) -> bool:
    """Return True if a part learns of the corpus, and cannot be restricted to some documents."""
    return type(part).index is not base.index and type(part).restrict is base.restrict


def _entry(
    name: str,
    kind: str,
    watch: Stopwatch,
    hits: Sequence[Hit],
    note: str = "",
    counts: Mapping[str, int] | None = None,
    watched: charges.CostMeter | None = None,
) -> StageTrace:
    waited = watched.waited if watched else 0.0
    watch.stop(name, waited)
    candidates = tuple((hit.chunk.id, hit.score) for hit in hits)
    counted = {**(counts or {}), **(watched.counts if watched else {})}
    wall, cpu = watch.wall[name], watch.cpu[name]
    return StageTrace(name, kind, wall, candidates, note, counted, waited, cpu)
