"""The pipeline: query steps, legs, fusion, stages; which fit together, each timed and traced."""

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from retrievers import charges, telemetry
from retrievers.base import (
    Chunk,
    Document,
    Hit,
    IndexReport,
    Ranking,
    Retriever,
    StageTrace,
)
from retrievers.base.suggestions import suggest
from retrievers.corpus import Corpus
from retrievers.documents.preparation import DocumentSettings, Prepared, prepare
from retrievers.fusion import FusionSettings
from retrievers.legs.base import Leg, LegResult, LegSettings
from retrievers.legs.group import LegGroup
from retrievers.legs.reading import count_unread, find_window, list_encoders
from retrievers.legs.registry import AnyLeg
from retrievers.models.tokens import Tokenizer
from retrievers.query.base import QueryStep, Request
from retrievers.query.registry import AnyQueryStep
from retrievers.query_cache import Answers, CacheSettings
from retrievers.ranking import Scored
from retrievers.settings import Settings, Workshop
from retrievers.settings.parts import find_sources
from retrievers.stages.base import Stage, describe_order, find_disorder
from retrievers.stages.registry import AnyStage
from retrievers.stages.scale import find_unscaled

TOLERANCE = 0.01  # of the sum of weights


class PipelineSettings(Settings):
    """Query steps, legs, their fusion, and the stages after it."""

    type: Literal["pipeline"] = "pipeline"
    mode: Literal["semantic", "keyword", "exact", "hybrid"] = Field(
        "hybrid", description="which legs search: hybrid: all; else those of one kind alone"
    )
    query: list[AnyQueryStep] = Field(
        default_factory=list, description="what happens to the query before any leg searches"
    )
    legs: dict[str, AnyLeg] = Field(
        min_length=1, description="the ranked lists that enter fusion, by a name of your choice"
    )
    fusion: Annotated[FusionSettings, Field(discriminator="type")] | None = Field(
        None, description="how several legs become one list; not allowed with a single leg"
    )
    stages: list[AnyStage] = Field(
        default_factory=list,
        description=f"what happens to the fused list; the order is fixed: {describe_order()}",
    )
    cache: CacheSettings | None = Field(
        None,
        description="where answers are kept until a document changes; never used to time searches",
    )

    @property
    def active(self) -> Mapping[str, LegSettings]:
        """The legs that the mode lets search."""
        if self.mode == "hybrid":
            return self.legs
        return {name: leg for name, leg in self.legs.items() if leg.kind == self.mode}

    def doubt_weights(self) -> str:
        """Say in words that weights which are shares, one being below 1, do not add up to 1."""
        given = self.fusion.weights if self.fusion and self.mode == "hybrid" else {}
        total = sum(given.get(name, 1.0) for name in self.legs)
        if min(given.values(), default=1.0) >= 1 or abs(total - 1) <= TOLERANCE:
            return ""
        missing = sorted(self.legs.keys() - given.keys())
        without = f", that of {', '.join(missing)} being 1" if missing else ""
        return (
            f"fusion.weights: they add up to {total:g}{without}, and shares of legs add up to 1; "
            "what is compared with the scores, as boosts and thresholds are, weighs differently"
        )

    @model_validator(mode="after")
    def _fits(self) -> "PipelineSettings":
        names = ", ".join(self.legs)
        if len(self.legs) > 1 and self.fusion is None:
            raise ValueError(f"fusion: missing; needed for more than one leg ({names})")
        if len(self.legs) == 1 and self.fusion is not None:
            raise ValueError(f"fusion: not allowed with the single leg {names}; null takes it out")
        if not self.active:
            kinds = {leg.kind for leg in self.legs.values()} - {"graph"}
            modes = ", ".join(sorted(kinds | {"hybrid"}))
            raise ValueError(f"mode: no leg is {self.mode}; allowed with these legs: {modes}")
        first, leg = next(iter(self.active.items()))
        if leg.kind == "graph":
            raise ValueError(
                f"legs.{first}: starts from what the legs before it find and so cannot come first; "
                "put it last"
            )
        if self.fusion:
            for key in ("weights", "boosts"):
                if unknown := getattr(self.fusion, key).keys() - self.legs.keys():
                    near = suggest(min(unknown), self.legs)
                    raise ValueError(
                        f"fusion.{key}.{min(unknown)}: no such leg; allowed: {names}{near}"
                    )
        if problem := find_disorder([stage.type for stage in self.stages]):
            raise ValueError(f"stages: {problem}")
        searching = {name: leg.kind for name, leg in self.active.items()}
        ranking = next((step.type for step in self.query if step.ranks_alone), "")
        if problem := find_unscaled(self.stages, self.fusion, searching, ranking):
            raise ValueError(f"stages: {problem}")
        if ranking and self.fusion and self.fusion.by_scores:
            raise ValueError(
                f"fusion: theoretical normalisation and confidence need the legs' own scores;"
                f" {ranking} leaves ranks alone"
            )
        for at, step in enumerate(self.query):
            if problem := step.find_misfit(self.active):
                raise ValueError(f"query.{at}: {step.type}: {problem}")
        return self

    def build(self, documents: DocumentSettings, workshop: Workshop) -> "Pipeline":
        """Return the retriever, not yet indexed."""
        return Pipeline(self, documents, workshop)


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

    def __init__(
        self,
        settings: PipelineSettings,
        documents: DocumentSettings,
        workshop: Workshop,
        parts: Parts | None = None,
    ) -> None:
        telemetry.start(workshop.progress)
        if parts is None and (doubt := settings.doubt_weights()):
            workshop.progress.say(f"warning: {doubt}")
        self._parts = parts or Parts()
        self._settings = settings
        self._documents = documents
        self._workshop = workshop
        self._legs = LegGroup(settings.active, lambda leg: self._parts.build_leg(leg, workshop))
        kinds = {name: leg.kind for name, leg in settings.active.items()}
        self._steps: list[tuple[str, QueryStep]] = [
            (step.type, step.build(workshop, kinds)) for step in settings.query
        ]
        self._stages: list[tuple[str, Stage]] = [
            (stage.type, stage.build(workshop)) for stage in settings.stages
        ]
        self._answers = Answers(settings.cache.build(workshop)) if settings.cache else None
        self._plan = telemetry.Plan(
            mode=settings.mode,
            provider=next((leg.provider for leg in settings.active.values() if leg.provider), ""),
            legs={name: (leg.kind, leg.type) for name, leg in settings.active.items()},
            fusion=settings.fusion.type if settings.fusion else "",
        )
        self._corpus = Corpus(())
        self._context_source = "none"

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Cut, contextualise and index `documents`."""
        prepared, self._corpus = self._parts.prepare(documents, self._documents, self._workshop)
        self._context_source = prepared.context_source
        say = self._workshop.progress.say
        report = self._legs.index(self._corpus, lambda problem: say(f"warning: {problem}"))
        for _, step in self._steps:
            step.index(self._corpus)
        for _, stage in self._stages:
            stage.index(self._corpus, self._top())
        if self._answers:
            recipe = self._settings.model_dump(mode="json", exclude={"cache"})
            cutting = self._documents.model_dump(mode="json")
            self._answers.index(self._corpus, [recipe, cutting, self.facts()])
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
        key = self._answers.key(query, k)
        known = self._answers.find(key)
        if known is not None:
            return known, True
        ranking = self._search(query, k)
        self._answers.keep(key, ranking)
        return ranking, False

    def search_plain(self, query: str, k: int) -> Ranking:
        """As `search`; without stages, which go by more, of each hit the chunk and score alone."""
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
        begin = time.perf_counter()
        hits = self._pin(self._legs.place(self._fuse(results, request.factors), results))
        named = {hit.chunk.id: hit.chunk for hit in hits}
        if self._settings.fusion:
            trace.append(_entry("fusion", "fusion", begin, hits))
        for name, stage in self._stages:
            begin = time.perf_counter()
            with charges.watch() as watched:
                result = stage.apply(request.text, hits)
            hits = result.hits
            named |= {hit.chunk.id: hit.chunk for hit in hits}
            trace.append(_entry(name, "stage", begin, hits, result.note, result.counts, watched))
        returned = {hit.chunk.id for hit in hits[:k]}
        others = (chunk for id_, chunk in named.items() if id_ not in returned)
        return Ranking(tuple(hits[:k]), tuple(trace), tuple(others), (*degraded, *down.values()))

    def without_query_cache(self) -> "Pipeline":
        """The same pipeline, on the same indexes, with every per-query cache off."""
        other = copy.copy(self)
        other._legs = self._legs.without_query_cache()
        other._steps = [(name, step.without_query_cache()) for name, step in self._steps]
        other._stages = [(name, stage.without_query_cache()) for name, stage in self._stages]
        other._answers = None
        return other

    def list_chunks(self) -> Sequence[Chunk]:
        """Return every chunk, in descending order of id."""
        return self._corpus.chunks

    def probe(self, query: str, depth: int) -> Mapping[str, Sequence[str]]:
        """Return each leg's list of chunk ids to `depth`."""
        request, _ = self._ask(query, [])
        results = self._legs.search(request, dict(self._legs.down), depth)
        chunks = self._corpus.chunks
        return {
            name: [chunks[at].id for at, _ in result.candidates] for name, result in results.items()
        }

    def facts(self) -> Mapping[str, Any]:
        """The source of contexts, facts of each leg and stage, digests of what was plugged in."""
        sources = find_sources({"documents": self._documents, "retriever": self._settings})
        steps = [{"type": name, **step.facts()} for name, step in self._steps]
        stages = [{"type": name, **stage.facts()} for name, stage in self._stages]
        query = {"query": steps} if steps else {}
        return {
            "context_source": self._context_source,
            **query,
            "legs": self._legs.facts(),
            "stages": stages,
            **({"sources": sources} if sources else {}),
        }

    def close(self) -> None:
        """Close every leg and the query cache."""
        self._legs.close()
        if self._answers:
            self._answers.close()

    def _count_unread(self) -> Mapping[str, Any]:
        """Return how many chunks go on after the `window` that the legs' encoders read, if any."""
        legs = (leg for leg in self._settings.active.values() if leg.cuts_short)
        window = find_window(list_encoders(legs, self._workshop))
        if window is None:
            return {}
        texts = [chunk.searchable for chunk in self._corpus.chunks]
        tokenizer = Tokenizer(self._documents.tokenizer, self._workshop)
        return {"window": window, "unread": count_unread(texts, window, tokenizer)}

    def _ask(self, query: str, trace: list[StageTrace]) -> tuple[Request, list[str]]:
        """Return the request that the query steps make of `query`, and what they could not do."""
        request = Request(query)
        degraded: list[str] = []
        for name, step in self._steps:
            begin = time.perf_counter()
            with charges.watch() as watched:
                result = step.apply(request)
            request = result.request
            degraded += [result.degraded] if result.degraded else []
            trace.append(_entry(name, "query", begin, (), result.note, result.counts, watched))
        return request, degraded

    def _fuse(
        self, results: Mapping[str, LegResult], factors: Mapping[str, float]
    ) -> Sequence[Scored]:
        candidates = {name: result.candidates for name, result in results.items()}
        if self._settings.fusion:
            return self._settings.fusion.fuse(candidates, factors)
        return next(iter(candidates.values()))

    def _pin(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return `hits`, those marked that a boost puts before all that other legs can find."""
        fusion = self._settings.fusion
        if not fusion or not fusion.boosts:
            return hits
        top = self._top()
        ranks = [{name: at.rank for name, at in hit.legs.items()} for hit in hits]
        return [
            replace(hit, pinned=fusion.lifts(held, top))
            for hit, held in zip(hits, ranks, strict=True)
        ]

    def _top(self) -> float:
        fusion = self._settings.fusion
        legs = self._settings.active.keys() - self._legs.down.keys()
        return fusion.top(legs - fusion.boosts.keys()) if fusion else 1.0


def _entry(
    name: str,
    kind: str,
    begin: float,
    hits: Sequence[Hit],
    note: str = "",
    counts: Mapping[str, int] | None = None,
    watched: charges.Watch | None = None,
) -> StageTrace:
    milliseconds = (time.perf_counter() - begin) * 1000
    candidates = tuple((hit.chunk.id, hit.score) for hit in hits)
    counted, waited = {**(counts or {})}, 0.0
    if watched:
        counted, waited = {**counted, **watched.counts}, watched.waited
    return StageTrace(name, kind, milliseconds - waited, candidates, note, counted, waited)
