"""What engines are compared on: the same texts, vectors and queries for each."""

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from assay.eval.collections.catalog import find
from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.loading import load
from assay.eval.configs.engine_settings import ConfiguredEngine
from assay.eval.configs.locations import default_dataset
from assay.eval.report.formats import count
from assay.eval.runs import environment
from assay.eval.runs.execution.interleaved_timing import alternate
from assay.eval.runs.execution.searching import sample
from assay.eval.runs.gold_ranks import matches_itself
from assay.eval.scoring import measures
from assay.eval.scoring.calculation import Scores
from assay.eval.scoring.join import RetrievedChunk, join
from assay.eval.statistics.estimates import OpenEstimate, estimate_percentile
from assay.retrievers.base import AssayError, Chunk, Progress
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.capabilities import Search
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.services.retries import count_retries
from assay.retrievers.settings import Resources

TIMED = 100  # queries
WARM_UP = 5  # of them, asked before
SECONDS = 30.0  # no further round of timing is begun after that
PERCENTILES = (50, 95)

# {"p50": …, "p95": …} in milliseconds.
Percentiles = Mapping[str, OpenEstimate]


@dataclass(frozen=True)
class IndexCost:
    """What indexing took in the engine: texts, seconds of the work, bytes; `cached` if found."""

    texts: int
    seconds: float
    bytes: int
    cached: bool


@dataclass(frozen=True)
class EngineFinding:
    """What was found of an engine on the queries of a collection: of what, when and how."""

    id: str
    engine: str
    collection: str
    queries: int
    sampled: bool
    created: str
    encoder: str
    settings: Mapping[str, Any]
    facts: Mapping[str, Any]
    environment: Mapping[str, Any]
    command: str

    @property
    def warnings(self) -> list[str]:
        """What to know before believing its figures."""
        if not self.sampled:
            return []
        queries = count(self.queries, "query", "queries")
        return [f"A sample: {queries}. A quick look; not the figures of the whole collection."]

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Its environment with the command that made it."""
        return {**self.environment, "command": shlex.split(self.command)}


@dataclass(frozen=True)
class Bench:
    """A collection cut and embedded. `asked` are its queries that say anything, `queries` all.

    `vectors` has one row a text, `encoded` the vector of each query that is asked, by its id.
    """

    collection: Collection
    chunks: Sequence[Chunk]
    texts: tuple[str, ...]
    vectors: Vectors
    encoder: str
    identity: str
    queries: tuple[Query, ...]
    encoded: Mapping[str, Vectors]

    @property
    def asked(self) -> list[Query]:
        """The queries that say anything."""
        return [query for query in self.queries if query.id in self.encoded]

    @property
    def timed(self) -> list[Query]:
        """The queries that latency is measured on, evenly spaced."""
        return sample(tuple(self.asked), TIMED)

    @property
    def options(self) -> list[str]:
        """The options of a command that make this bench of the collection."""
        return ["--limit", str(len(self.queries))] if self.sampled else []

    @property
    def sampled(self) -> bool:
        """Whether the collection has more queries."""
        return len(self.queries) < len(self.collection.queries)

    def search(self, engine: Engine, search: Search, query: Query, limit: int) -> list[Scored]:
        """Return what an engine, which has indexed the bench, finds by one of its searches."""
        if search == "keyword":
            return engine.keyword(query.text, limit)
        if search == "dense":
            return engine.dense(self.encoded[query.id], limit)
        return engine.hybrid(query.text, self.encoded[query.id], limit)

    def score(self, found: Mapping[str, Sequence[Scored]], names: Sequence[str]) -> Scores:
        """Return {measure: {query id: score}} of lists of positions, by query id.

        They are those that a stored run of these rankings would have. A query that is not `found`
        has no results.
        """
        collection = self.collection
        joined = {
            query.id: join(
                [
                    RetrievedChunk(chunk, chunk.id in collection.prescribed)
                    for chunk in (self.chunks[i] for i, _ in found.get(query.id, ()))
                    if not (collection.drop_self_matches and matches_itself(query.id, chunk))
                ],
                collection.gold[query.id],
            )
            for query in self.queries
        }
        gold = {query.id: collection.gold[query.id] for query in self.queries}
        return measures.score(names, joined, gold)

    def describe(
        self,
        kind: str,
        name: str,
        configured: ConfiguredEngine,
        facts: Mapping[str, Any],
        command: str,
    ) -> dict[str, Any]:
        """Return the fields of an `EngineFinding`, which gets an id of its kind.

        `name` is the engine's, `facts` its metadata.
        """
        now = datetime.now(UTC)
        place = self.collection.name.replace(":", ".").replace("/", ".")
        return {
            "id": f"{kind}-{name}-{place}-{now.strftime('%Y%m%dT%H%M%S.%f')[:-3]}",
            "engine": name,
            "collection": self.collection.name,
            "queries": len(self.queries),
            "sampled": self.sampled,
            "created": now.isoformat(timespec="seconds"),
            "encoder": self.encoder,
            "settings": configured.settings.model_dump(mode="json"),
            "facts": dict(facts),
            "environment": environment.describe(),
            "command": command,
        }


def read_words(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the collection among `words`, if not the default one, and the overrides `key=value`.

    Raises AssayError where there are several collections, or none of that name.
    """
    names = [word for word in words if "=" not in word]
    if len(names) > 1:
        raise AssayError(f"{names[1]}: one COLLECTION at a time")
    collection = names[0] if names else default_dataset()
    find(collection)
    return collection, [word for word in words if "=" in word]


def open_bench(dataset: str, limit: int | None, resources: Resources) -> Bench:
    """Return a collection cut by the default settings and embedded by the default encoder."""
    collection = load(dataset, resources.progress)
    prepared = prepare(collection.documents, DocumentSettings(), resources)
    corpus = Corpus(prepared.chunks, collection.documents)
    settings = EncoderSettings()
    encoder = settings.build(resources)
    vectors = corpus.encode(encoder).vectors
    queries = sample(collection.queries, limit)
    asked = [query for query in queries if query.text.strip()]
    progress = resources.progress.track(asked, "encoding queries", len(asked))
    return Bench(
        collection=collection,
        chunks=corpus.chunks,
        texts=tuple(chunk.searchable for chunk in corpus.chunks),
        vectors=vectors,
        encoder=settings.model,
        identity=encoder.identity,
        queries=tuple(queries),
        encoded={query.id: encoder.encode_query(query.text) for query in progress},
    )


def index_engine(bench: Bench, engine: Engine) -> IndexCost:
    """Index the bench's texts in an engine and return what that took."""
    report = engine.index(bench.texts, bench.vectors, bench.identity)
    seconds = sum(report.seconds.values())
    return IndexCost(len(bench.texts), seconds, report.bytes, "engine" in report.cached)


def time_interleaved(
    calls: Mapping[str, Callable[[Query], object]], queries: Sequence[Query], progress: Progress
) -> dict[str, list[float]]:
    """Return the milliseconds of each call by name, paired by query, after a warm-up.

    What is lost to further tries is left out.
    """
    for query in queries[:WARM_UP]:
        for call in calls.values():
            call(query)
    taken = alternate([_timed(call) for call in calls.values()], queries, SECONDS, progress)
    return dict(zip(calls, taken, strict=True))


def find_percentiles(times: Sequence[float]) -> Percentiles:
    """Return p50 and p95 with their intervals."""
    return {f"p{percent}": estimate_percentile(times, percent) for percent in PERCENTILES}


def _timed(call: Callable[[Query], object]) -> Callable[[Query], float]:
    def measure(query: Query) -> float:
        with count_retries() as cost:
            begin = time.perf_counter()
            call(query)
            taken = (time.perf_counter() - begin) * 1e3
        return taken - cost.milliseconds

    return measure
