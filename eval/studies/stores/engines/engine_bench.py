"""What engines are compared on: the same texts, vectors and queries for each."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.loading import load
from assay.eval.runs.execution.searching import sample
from assay.eval.studies.stores.parity.quality import Rankings
from assay.eval.studies.stores.parity.results import IndexCost
from assay.eval.studies.stores.recall.subjects import Searcher
from assay.retrievers.base import Chunk
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.services.retries import count_retries
from assay.retrievers.settings import Resources

TIMED = 100  # queries


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

    def rank(self, found: Mapping[str, Sequence[Scored]]) -> Rankings:
        """Return lists of positions, by query id, as lists of chunks."""
        return {
            query: [self.chunks[position] for position, _ in listed]
            for query, listed in found.items()
        }


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


def timed(call: Callable[[Query], object]) -> Callable[[Query], float]:
    """Return what makes a call and gives its milliseconds, those lost to further tries left out."""

    def measure(query: Query) -> float:
        with count_retries() as cost:
            begin = time.perf_counter()
            call(query)
            taken = (time.perf_counter() - begin) * 1e3
        return taken - cost.milliseconds

    return measure


def index_engine(bench: Bench, engine: Searcher) -> IndexCost:
    """Index the bench's texts in an engine and return what that took."""
    report = engine.index(bench.texts, bench.vectors, bench.identity)
    seconds = sum(report.seconds.values())
    return IndexCost(len(bench.texts), seconds, report.bytes, "engine" in report.cached)
