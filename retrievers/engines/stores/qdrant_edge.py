"""Qdrant Edge: Qdrant's search in this process, and what the server has in common with it."""

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from assay.retrievers.engines.adapter import AdapterSettings
from assay.retrievers.engines.base import LegWeights
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.formulas import Formula, ReciprocalRanks, sum_deviations
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources, Settings

if TYPE_CHECKING:
    import qdrant_edge

SHARD, FACTS = "shard", "facts.json"
COPY_BLOCK = 1 << 20
# With it a term's weight is its count: (k + 1) tf / (tf + k) tends to tf.
COUNTING_K = 1e6

Language = Literal[
    "arabic", "azerbaijani", "basque", "bengali", "catalan", "chinese", "danish", "dutch",
    "english", "finnish", "french", "german", "greek", "hebrew", "hinglish", "hungarian",
    "indonesian", "italian", "japanese", "kazakh", "nepali", "norwegian", "portuguese", "romanian",
    "russian", "slovene", "spanish", "swedish", "tajik", "turkish",
]  # fmt: skip


class QdrantBm25Settings(Settings):
    """Qdrant's BM25, with idf = ln(1 + (N - df + 0.5) / (df + 0.5)) and its own tokenizer."""

    k1: float = Field(1.2, ge=0, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )
    language: Language = Field("english", description="language of stop words and stemming")
    tokenizer: Literal["word", "code", "whitespace", "multilingual"] = Field(
        "word",
        description=(
            "word splits at all but letters and digits; code also at humps and underscores; "
            "whitespace; multilingual for languages without spaces, which drops numbers"
        ),
    )
    ascii_folding: bool = Field(False, description="strip diacritics")


class QdrantStoreSettings(AdapterSettings):
    """Base of the settings of both forms of Qdrant."""

    language_key: ClassVar[str] = "bm25.language"
    fusion: Literal["rrf", "dbsf"] = Field(
        "rrf",
        description=(
            "rrf: reciprocal rank fusion; dbsf: sum of scores, each list scaled to its mean plus "
            "and minus three standard deviations"
        ),
    )
    k: int = Field(
        61,
        ge=1,
        description=(
            "rrf's constant. A list adds 1 / (rank / weight + k - 1), ranks from 1: with weights "
            "of 1 the engine counts ranks from 0, so 61 is what 60 is elsewhere"
        ),
    )
    weights: LegWeights = Field(
        default_factory=LegWeights, description="rrf only; a weight divides ranks"
    )
    bm25: QdrantBm25Settings = Field(
        default_factory=QdrantBm25Settings, description="the engine's keyword index"
    )
    exact: bool = Field(True, description="compare with every vector; false: an HNSW graph")
    m: int = Field(16, ge=2, description="HNSW: edges of a node")
    ef_construct: int = Field(100, ge=4, description="HNSW: candidates when the graph is built")
    ef: int | None = Field(None, ge=1, description="HNSW: candidates when searching; the engine's")

    @model_validator(mode="after")
    def _can_weigh(self) -> "QdrantStoreSettings":
        if self.fusion == "dbsf" and self.weights != LegWeights():
            raise ValueError("fusion dbsf has no weights in Qdrant; leave them out, or use rrf")
        return self

    def make_formula(self) -> Formula:
        """Return the engine's fusion; its own precision is 32 bits."""
        if self.fusion == "dbsf":
            return sum_deviations()
        return ReciprocalRanks(
            k=self.k,
            first=0,
            weights=(self.weights.dense, self.weights.keyword),
            weigh="ranks",
            single=True,
        )

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        return [self.bm25, *([] if self.exact else [self.m, self.ef_construct])]


class QdrantEdgeSettings(QdrantStoreSettings):
    """Qdrant Edge, in this process: dense and BM25 lists fused inside the engine."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine", approximate=("hnsw",), packages=("qdrant-edge-py",), restricts=True
    )
    type: Literal["qdrant-edge"] = "qdrant-edge"

    def build(self, resources: Resources) -> "QdrantEdgeEngine":
        """Return the engine, which has indexed nothing yet."""
        return QdrantEdgeEngine(self, resources)


class OpenIndex(NamedTuple):
    """An open shard, and the folder of this process in which it lies."""

    shard: "qdrant_edge.EdgeShard"
    copy: OwnFolder


class QdrantEdgeEngine(EmbeddedEngine[QdrantEdgeSettings, OpenIndex]):
    """A shard of points that have a text's position as id, its vector and its BM25 terms.

    A shard may be open in one process only, so each process works on a copy of its own.
    """

    def __init__(self, settings: QdrantEdgeSettings, resources: Resources) -> None:
        super().__init__(settings, resources)
        self._embedder = make_embedder(settings.bm25)

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        """Write the shard, and next to it the mean length of a text in the engine's terms."""
        average = measure_terms(texts, self._settings.bm25)
        positions, threads = self._track(len(texts)), self._resources.threads
        _build_shard(folder / SHARD, positions, texts, vectors, self._settings, average, threads)
        (folder / FACTS).write_text(json.dumps({"average_terms": round(average, 2)}))

    def _open(self, folder: Path) -> OpenIndex:
        """Open a copy of the shard."""
        import qdrant_edge as q

        config = _make_config(self._dimensions, self._settings, self._resources.threads)
        copy = OwnFolder("qdrant-edge")
        try:
            shard = q.EdgeShard.load(str(_copy_shard(folder / SHARD, copy.path)), config)
            self._facts |= json.loads((folder / FACTS).read_text())
        except BaseException:
            copy.close()
            raise
        return OpenIndex(shard, copy)

    def _release(self, opened: OpenIndex) -> None:
        opened.shard.close()
        opened.copy.close()

    def _search_dense(self, opened: OpenIndex, vector: Vectors, limit: int) -> list[Scored]:
        import qdrant_edge as q

        query = q.Query.Nearest(vector.tolist(), using="dense")
        request = q.QueryRequest(
            limit=limit, query=query, params=self._search_params(), filter=self._filter()
        )
        return _ask(opened, request)

    def _search_keyword(self, opened: OpenIndex, text: str, limit: int) -> list[Scored]:
        import qdrant_edge as q

        query = self._keyword_query(text)
        return _ask(opened, q.QueryRequest(limit=limit, query=query, filter=self._filter()))

    def _search_hybrid(
        self, opened: OpenIndex, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts: the engine breaks ties at random."""
        import qdrant_edge as q

        depth = self.depth
        request = q.QueryRequest(
            limit=depth.dense + depth.keyword,
            prefetches=[
                q.Prefetch(
                    limit=depth.dense,
                    query=q.Query.Nearest(vector.tolist(), using="dense"),
                    params=self._search_params(),
                    filter=self._filter(),
                ),
                q.Prefetch(
                    limit=depth.keyword, query=self._keyword_query(text), filter=self._filter()
                ),
            ],
            query=self._fusion(),
        )
        return _ask(opened, request)

    def _fusion(self) -> Any:
        import qdrant_edge as q

        if self._settings.fusion == "dbsf":
            return q.Fusion.Dbsf()
        weights = self._settings.weights
        return q.Fusion.Rrf(k=self._settings.k, weights=[weights.dense, weights.keyword])

    def _filter(self) -> "qdrant_edge.Filter | None":
        """Return the filter for the texts that may be found; None if all may be."""
        import qdrant_edge as q

        if self._allowed is None:
            return None
        listed = self._allowed.fewer
        condition = q.HasIdCondition(set(listed.positions))
        return q.Filter(must_not=[condition]) if listed.others else q.Filter(must=[condition])

    def _keyword_query(self, text: str) -> "qdrant_edge.Query":
        import qdrant_edge as q

        return q.Query.Nearest(self._embedder.embed_query(text), using="keyword")

    def _search_params(self) -> "qdrant_edge.SearchParams":
        import qdrant_edge as q

        exact = self._settings.exact
        return q.SearchParams(exact=exact, hnsw_ef=None if exact else self._settings.ef)


def _ask(opened: OpenIndex, request: "qdrant_edge.QueryRequest") -> list[Scored]:
    return [(int(point.id), point.score) for point in opened.shard.query(request)]


def make_embedder(
    settings: QdrantBm25Settings, average_terms: float | None = None
) -> "qdrant_edge.Bm25":
    """Return the embedder of texts into terms and weights; queries need no average."""
    import qdrant_edge as q

    return q.Bm25(
        q.Bm25Config(
            k=settings.k1,
            b=settings.b,
            avg_len=average_terms,
            language=settings.language,
            tokenizer=getattr(q.TokenizerType, settings.tokenizer.capitalize()),
            ascii_folding=settings.ascii_folding,
        )
    )


def measure_terms(texts: Sequence[str], settings: QdrantBm25Settings) -> float:
    """Return the mean number of terms of the texts; there must be at least one text."""
    counter = make_embedder(settings.model_copy(update={"k1": COUNTING_K, "b": 0.0}))
    return sum(sum(counter.embed_document(text).values) for text in texts) / len(texts)


def _make_config(
    dimensions: int, settings: QdrantStoreSettings, threads: int
) -> "qdrant_edge.EdgeConfig":
    """Return the configuration of a shard: exact search builds no graph."""
    import qdrant_edge as q

    # Nodes without edges make no graph; thresholds of 1 kB make one whatever the size.
    graph = q.HnswIndexConfig(
        m=0 if settings.exact else settings.m,
        ef_construct=settings.ef_construct,
        full_scan_threshold=1,
        max_indexing_threads=threads,
    )
    return q.EdgeConfig(
        vectors={"dense": q.EdgeVectorParams(size=dimensions, distance=q.Distance.Dot)},
        sparse_vectors={"keyword": q.EdgeSparseVectorParams(modifier=q.Modifier.Idf)},
        hnsw_config=graph,
        optimizers=q.EdgeOptimizersConfig(indexing_threshold=None if settings.exact else 1),
        max_search_threads=threads,
        wal_enabled=False,
    )


def _build_shard(
    path: Path,
    positions: Iterable[int],
    texts: Sequence[str],
    vectors: Vectors,
    settings: QdrantStoreSettings,
    average_terms: float,
    threads: int,
) -> None:
    """Make a shard at `path` with one point per text, its position as id, and optimise it.

    `positions` are those of all texts, in order.
    """
    import qdrant_edge as q

    embedder = make_embedder(settings.bm25, max(average_terms, 1.0))
    path.mkdir()
    shard = q.EdgeShard.create(str(path), _make_config(vectors.shape[1], settings, threads))
    for position in positions:
        terms = embedder.embed_document(texts[position])
        point = q.Point(position, {"dense": vectors[position].tolist(), "keyword": terms})
        # The engine stores the points of one update in the order of a hash table that differs each
        # time, by which it then orders equal scores and adds up those of terms.
        shard.update(q.UpdateOperation.upsert_points([point]))
    shard.optimize()
    shard.flush()
    shard.close()


def _copy_shard(source: Path, target: Path) -> Path:
    """Copy the shard at `source` into the folder `target` and return where it lies there."""
    return Path(shutil.copytree(source, target / source.name, copy_function=_copy_sparse))


def _copy_sparse(source: str, target: str) -> None:
    """Copy a file without its blocks of zeros: the engine's files are large and mostly empty."""
    zeros = bytes(COPY_BLOCK)
    with Path(source).open("rb") as reader, Path(target).open("wb") as writer:
        while block := reader.read(COPY_BLOCK):
            if block == zeros[: len(block)]:
                writer.seek(len(block), 1)
            else:
                writer.write(block)
        writer.truncate()
