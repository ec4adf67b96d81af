"""What engines are compared on: the same texts, vectors and queries for each."""

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.loading import load
from assay.eval.runs.execution.searching import sample
from assay.eval.scoring.join import RetrievedChunk, covers
from assay.eval.statistics.estimates import estimate_mean
from assay.eval.studies.stores.engines.benchmark import DistractorFacts
from assay.eval.studies.stores.parity.quality import Rankings
from assay.eval.studies.stores.parity.results import IndexCost
from assay.eval.studies.stores.recall.subjects import Searcher
from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Encoder, Vectors
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.services.retries import count_retries
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

TIMED = 100  # queries


@dataclass(frozen=True)
class Bench:
    """A collection cut and embedded. `asked` are its queries that say anything, `queries` all.

    `vectors` has one row a text, `encoded` the vector of each query that is asked, by its id.
    The last of the chunks are `distractors`, where there are any.
    """

    collection: Collection
    chunks: Sequence[Chunk]
    texts: tuple[str, ...]
    vectors: Vectors
    encoder: str
    identity: str
    queries: tuple[Query, ...]
    encoded: Mapping[str, Vectors]
    distractors: DistractorFacts | None = None

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
        limit = ["--limit", str(len(self.queries))] if self.sampled else []
        return [*limit, *(["--passages", str(len(self.chunks))] if self.distractors else [])]

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


def open_bench(
    dataset: str, limit: int | None, resources: Resources, passages: int | None = None
) -> Bench:
    """Return a collection cut by the default settings and embedded by the default encoder.

    With `passages` distractors follow its own, up to that number. Raises AssayError where these
    cannot be made.
    """
    collection = load(dataset, resources.progress)
    prepared = prepare(collection.documents, DocumentSettings(), resources)
    corpus = Corpus(prepared.chunks, collection.documents)
    settings = EncoderSettings()
    encoder = settings.build(resources)
    vectors = corpus.encode(encoder).vectors
    queries = sample(collection.queries, limit)
    asked = [query for query in queries if query.text.strip()]
    progress = resources.progress.track(asked, "encoding queries", len(asked))
    bench = Bench(
        collection=collection,
        chunks=corpus.chunks,
        texts=tuple(chunk.searchable for chunk in corpus.chunks),
        vectors=vectors,
        encoder=settings.model,
        identity=encoder.identity,
        queries=tuple(queries),
        encoded={query.id: encoder.encode_query(query.text) for query in progress},
    )
    if passages is None:
        return bench
    asked_for = np.stack(list(bench.encoded.values()))
    added = make_distractors(collection, bench.chunks, vectors, asked_for, passages, encoder)
    return replace(
        bench,
        chunks=[*bench.chunks, *added.chunks],
        texts=(*bench.texts, *(chunk.text for chunk in added.chunks)),
        vectors=np.concatenate([vectors, added.vectors]),
        # No encoder gives a distractor's text this vector.
        identity=digest(encoder.identity, added.identity),
        distractors=added.facts,
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


SEED = 2_026
EMBEDDED = 64  # are embedded for real
DECIMALS = 2  # of their likeness count: others follow the machine


class Distractors(NamedTuple):
    """Chunks and a vector of unit length for each, of shape (chunks, dimensions).

    `identity` is a digest of all that vectors depend on beside the texts and the encoder.
    """

    chunks: list[Chunk]
    vectors: Vectors
    identity: str
    facts: DistractorFacts


def make_distractors(
    collection: Collection,
    chunks: Sequence[Chunk],
    vectors: Vectors,
    queries: Vectors,
    passages: int,
    encoder: Encoder,
) -> Distractors:
    """Return as many as bring `chunks` to so many `passages`, the same ones at every call.

    `vectors` are those of the chunks, `queries` those of the queries. Raises AssayError where there
    are as many passages already, or too few that no query asks for.
    """
    count = passages - len(chunks)
    if count < 1:
        raise AssayError(
            f"{passages:,} passages: {collection.name} has {len(chunks):,} already; allowed: more"
        )
    relevant = find_relevant(collection, chunks)
    free = np.array([i for i in range(len(chunks)) if i not in relevant], dtype=int)
    pairs = len(free) * (len(free) - 1)
    if pairs < count:
        raise AssayError(
            f"{passages:,} passages: {len(free):,} of {collection.name} answer no query, which "
            f"make {pairs:,} more; allowed: {len(chunks) + pairs:,} at most"
        )
    drawn = np.array(random.Random(SEED).sample(range(pairs), count))
    first, second = np.divmod(drawn, len(free) - 1)
    second += second >= first  # no passage is paired with itself
    halves = [_halve(chunks[i].searchable) for i in free]
    texts = [f"{halves[a][0]} {halves[b][1]}" for a, b in zip(first, second, strict=True)]
    middles = _normalise(vectors[free[first]] + vectors[free[second]])
    chosen = np.unique(np.linspace(0, count - 1, min(EMBEDDED, count)).astype(int))
    real = encoder.encode_passages([texts[i] for i in chosen])
    likeness = estimate_mean(np.einsum("ij,ij->i", real, middles[chosen]).tolist())
    cosine = round(likeness.value, DECIMALS)
    scattered = scatter_about(middles, cosine)
    return Distractors(
        [Chunk(id_ := f"distractor-{i}", id_, 0, len(text), text) for i, text in enumerate(texts)],
        scattered,
        digest(cosine),
        DistractorFacts(
            count,
            likeness,
            float(np.mean(queries @ real.T)),
            float(np.mean(queries @ scattered[chosen].T)),
        ),
    )


def scatter_about(middles: Vectors, cosine: float) -> Vectors:
    """Return for each of `middles`, of unit length, one at this `cosine` to it, drawn at random."""
    aside = np.random.default_rng(SEED).standard_normal(middles.shape, np.float32)
    aside -= np.einsum("ij,ij->i", aside, middles)[:, None] * middles
    aside = _normalise(aside)
    return _normalise(cosine * middles + math.sqrt(1 - cosine**2) * aside)


def find_relevant(collection: Collection, chunks: Sequence[Chunk]) -> set[int]:
    """Return the positions of the chunks that cover what is relevant to some query."""
    by_document: dict[str, list[int]] = {}
    for i, chunk in enumerate(chunks):
        by_document.setdefault(chunk.doc_id, []).append(i)
    return {
        i
        for items in collection.gold.values()
        for item in items
        if item.grade > 0
        for i in by_document.get(item.doc_id, ())
        if covers(RetrievedChunk(chunks[i], chunks[i].id in collection.prescribed), item)
    }


def _halve(text: str) -> tuple[str, str]:
    words = text.split()
    middle = len(words) // 2
    return " ".join(words[:middle]), " ".join(words[middle:])


def _normalise(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / lengths, np.float32)
