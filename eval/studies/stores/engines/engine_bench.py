"""The bench on which engines are compared, with the same texts, vectors and queries for each."""

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
WARM_UP = 5  # queries among them that are asked before timing
SECONDS = 30.0  # time after which no further round of timing begins
PERCENTILES = (50, 95)

# {"p50": …, "p95": …} in milliseconds.
Percentiles = Mapping[str, OpenEstimate]


@dataclass(frozen=True)
class IndexCost:
    """The cost of indexing: number of texts, seconds, bytes; `cached` if an index was found."""

    texts: int
    seconds: float
    bytes: int
    cached: bool


@dataclass(frozen=True)
class EngineFinding:
    """A result for an engine on the queries of a collection: its subject, time and environment."""

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
        """Warnings about the figures."""
        if not self.sampled:
            return []
        queries = count(self.queries, "query", "queries")
        return [f"A sample: {queries}. A quick look; not the figures of the whole collection."]

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The environment, with the command that made the result."""
        return {**self.environment, "command": shlex.split(self.command)}


@dataclass(frozen=True)
class Bench:
    """A collection, cut and embedded.

    `queries` are its queries or a sample of them; `vectors` has one row per text; `encoded` has the
    vector of each query that is not blank, by its id.
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
        """The queries that are not blank."""
        return [query for query in self.queries if query.id in self.encoded]

    @property
    def timed(self) -> list[Query]:
        """An evenly spaced sample of queries for measuring latency."""
        return sample(tuple(self.asked), TIMED)

    @property
    def options(self) -> list[str]:
        """The command-line options that make this bench of the collection."""
        return ["--limit", str(len(self.queries))] if self.sampled else []

    @property
    def sampled(self) -> bool:
        """True if the collection has more queries."""
        return len(self.queries) < len(self.collection.queries)

    def search(self, engine: Engine, search: Search, query: Query, limit: int) -> list[Scored]:
        """Return the results of one kind of search in an engine that has indexed the bench."""
        if search == "keyword":
            return engine.keyword(query.text, limit)
        if search == "dense":
            return engine.dense(self.encoded[query.id], limit)
        return engine.hybrid(query.text, self.encoded[query.id], limit)

    def score(self, found: Mapping[str, Sequence[Scored]], names: Sequence[str]) -> Scores:
        """Return {measure: {query id: score}} for lists of positions by query id.

        The scores equal those of a stored run of these rankings. A query that is not in `found` has
        no results.
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
        """Return the fields of an `EngineFinding` with an id of the `kind`.

        `name` is the engine's name, `facts` its metadata.
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
    """Return the collection among `words`, by default the default one, and `key=value` overrides.

    Raises AssayError for several collections, or for an unknown one.
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
    """Index the bench's texts in an engine and return the cost."""
    report = engine.index(bench.texts, bench.vectors, bench.identity)
    seconds = sum(report.seconds.values())
    return IndexCost(len(bench.texts), seconds, report.bytes, "engine" in report.cached)


def time_interleaved(
    calls: Mapping[str, Callable[[Query], object]], queries: Sequence[Query], progress: Progress
) -> dict[str, list[float]]:
    """Return the milliseconds of each call by name, paired by query, after a warm-up.

    The time spent on retries is left out.
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
