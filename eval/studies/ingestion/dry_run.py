"""The expected requests of a run to services, and their cost, without making any."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.eval.collections.loading import load
from assay.eval.configs.config import RunConfig
from assay.eval.configs.resources import make_resources
from assay.eval.runs.execution.searching import sample
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import prepare
from assay.retrievers.legs.base import LegSettings
from assay.retrievers.models.base import CrossEncoder
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.models.choice import EncoderChoice
from assay.retrievers.models.served.listwise import ListwiseSettings
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.query.expand import ExpandSettings
from assay.retrievers.query.hyde import HydeSettings
from assay.retrievers.query.multi_query import MultiQuerySettings
from assay.retrievers.query.writing import WritingSettings
from assay.retrievers.services.prices import FREE, Prices, Usage
from assay.retrievers.settings import Resources
from assay.retrievers.stages.rerank import RerankSettings


@dataclass(frozen=True, slots=True)
class Item:
    """The expected charge of one part; `usd` is None if no price is known."""

    part: str
    what: str
    units: int
    unit: str
    usd: float | None


@dataclass(frozen=True, slots=True)
class DryRun:
    """A run's expected charges, with tokens at the usual number of bytes each.

    `searches` is the number of searches in all, to be judged and to be timed. Their results are
    assumed not to be in the cache.
    """

    config: str
    collection: str
    chunks: int
    searches: int
    items: tuple[Item, ...]

    @property
    def usd(self) -> float | None:
        """The sum; None if some price is not known."""
        found = [item.usd for item in self.items]
        return None if None in found else sum(value for value in found if value is not None)

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as JSON values."""
        items = [
            {
                "part": item.part,
                "what": item.what,
                "units": item.units,
                "unit": item.unit,
                "usd": item.usd,
            }
            for item in self.items
        ]
        return {
            "config": self.config,
            "collection": self.collection,
            "chunks": self.chunks,
            "searches": self.searches,
            "items": items,
            "usd": self.usd,
        }


def estimate_run(settings: RunConfig, progress: Progress) -> DryRun:
    """Return the expected charges of a run. Documents are cut; no service is called.

    Raises AssayError if the retriever is not a pipeline.
    """
    pipeline = settings.retriever
    if not isinstance(pipeline, PipelineSettings):
        raise AssayError(f"--dry-run: estimates pipelines, not a retriever of type {pipeline.type}")
    collection = load(settings.dataset, progress)
    resources = make_resources(progress)
    chunks = prepare(collection.documents, settings.documents, resources).chunks
    texts = Corpus(chunks).texts
    queries = [query.text for query in sample(collection.queries, settings.limit)]
    latency = settings.latency
    timed = min(latency.queries, len(queries))
    # Timed one by one, once more for throughput, and the warm-up.
    extra = 2 * timed + min(latency.warm_up, timed)
    searches = len(queries) + extra
    items = [
        *_list_writings(pipeline, queries, searches, resources),
        *_list_encodings(pipeline, texts, queries, searches, resources),
        *_list_rerankings(pipeline, texts, queries, searches, resources),
    ]
    return DryRun(settings.name, collection.name, len(chunks), searches, tuple(items))


def _list_writings(
    pipeline: PipelineSettings, queries: Sequence[str], searches: int, resources: Resources
) -> Iterator[Item]:
    """Yield the charge of each query step whose language model is charged for."""
    for step in pipeline.query:
        if isinstance(step, WritingSettings) and (prices := step.open(resources).prices) != FREE:
            asked = sum(map(step.expect, queries), Usage())
            usage = _scale(asked, searches, len(queries))
            yield _price(f"query.{step.type}", f"{searches:,} calls", usage, prices)


def _list_encodings(
    pipeline: PipelineSettings,
    texts: Sequence[str],
    queries: Sequence[str],
    searches: int,
    resources: Resources,
) -> Iterator[Item]:
    """Yield the charges of each encoder in each part: for the chunks, or the terms that expand
    queries, and for the queries.
    """
    seen: set[tuple[str, str]] = set()
    for part, settings, encoder in _find_encoders(pipeline, resources):
        if not encoder.charged:
            continue
        expands = isinstance(settings, ExpandSettings)
        kind = "terms" if expands else "chunks"
        if (encoder.identity, kind) not in seen:
            seen.add((encoder.identity, kind))
            passages = settings.choose_terms(settings.count_terms(texts)) if expands else texts
            missing = encoder.find_missing(passages)
            usage, what = encoder.expect(missing), f"{len(missing):,} {kind} not embedded before"
            yield _price(part, what, usage, encoder.prices)
        if part.startswith(("legs.", "query.")):
            asked = sum((_expect(encoder, query, settings, pipeline) for query in queries), Usage())
            usage = _scale(asked, searches, len(queries))
            yield _price(part, f"queries of {searches:,} searches", usage, encoder.prices)


def _expect(encoder: CachingEncoder, query: str, part: Any, pipeline: PipelineSettings) -> Usage:
    """Return an encoder's usage for a query, with the texts that query steps add for a leg."""
    asked = encoder.expect_query(query)
    if not isinstance(part, LegSettings):
        return asked
    usage = asked
    for step in pipeline.query:
        if isinstance(step, MultiQuerySettings):
            usage += sum([asked] * step.queries, Usage())
        if isinstance(step, HydeSettings) and part.by_vector:
            usage += encoder.expect(step.examples)
    return usage


def _find_encoders(
    pipeline: PipelineSettings, resources: Resources
) -> Iterator[tuple[str, Any, CachingEncoder]]:
    parts: Mapping[str, Any] = {
        **{f"legs.{name}": leg for name, leg in pipeline.active.items()},
        **{f"query.{step.type}": step for step in pipeline.query},
        **{f"stages.{stage.type}": stage for stage in pipeline.stages},
    }
    for name, part in parts.items():
        for _, value in part:
            if isinstance(value, EncoderChoice):
                yield name, part, value.build(resources)


def _list_rerankings(
    pipeline: PipelineSettings,
    texts: Sequence[str],
    queries: Sequence[str],
    searches: int,
    resources: Resources,
) -> Iterator[Item]:
    """Yield the charge of each charged reranker, at full depth, for evenly spaced chunks."""
    for stage in pipeline.stages:
        if not isinstance(stage, RerankSettings) or not texts or not queries:
            continue
        model: CrossEncoder = stage.model.build(resources)
        if model.prices == FREE:
            continue
        depth = min(stage.depth, len(texts))
        shown = [texts[i * len(texts) // depth] for i in range(depth)]
        middle = sorted(queries, key=len)[len(queries) // 2]
        usage = _scale(model.expect(middle, shown), searches, 1)
        what = f"{depth} chunks in each of {searches:,} searches"
        if isinstance(stage.model, ListwiseSettings):
            what += f", by {stage.model.count_calls(depth):,} calls at most"
        yield _price(f"stages.{stage.type}", what, usage, model.prices, model.unit)


def _scale(usage: Usage, times: int, over: int) -> Usage:
    return Usage(
        round(usage.input * times / max(over, 1)), output=round(usage.output * times / max(over, 1))
    )


def _price(part: str, what: str, usage: Usage, prices: Prices | None, unit: str = "tokens") -> Item:
    usd = None if prices is None else prices.cost(usage)
    return Item(part, what, usage.prompt + usage.output, unit, usd)
