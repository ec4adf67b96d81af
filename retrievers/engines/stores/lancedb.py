"""LanceDB, in this process: both lists from its Rust core, fused in Python by its client."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from assay.retrievers.engines.adapter import AdapterSettings
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.formulas import DistanceAndScore, Formula, ReciprocalRanks
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources, Settings

if TYPE_CHECKING:
    import lancedb.query
    import lancedb.rerankers
    import lancedb.table
    import pyarrow as pa

Q = TypeVar("Q", bound="lancedb.query.LanceQueryBuilder")
DATABASE = "database"
# The engine's BM25 takes no others; its idf is ln(1 + (N - df + 0.5) / (df + 0.5)).
K1, B = 1.2, 0.75
# What of the index's settings counts only when it is searched.
SEARCHING = {"nprobes", "refine_factor", "ef"}
TABLE = "texts"
ROWS_PER_BATCH = 1 << 14
# Of unit vectors the cosine. With `cosine` a quantised index gives the squared distance instead.
METRIC = "dot"

Language = Literal[
    "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian",
    "italian", "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil",
    "turkish",
]  # fmt: skip


class LanceFtsSettings(Settings):
    """LanceDB's BM25, of fixed k1 = 1.2 and b = 0.75: terms in lower case."""

    tokenizer: Literal["simple", "whitespace", "icu", "icu/split"] = Field(
        "simple",
        description=(
            "simple splits at all but letters and digits; whitespace; icu at the word boundaries "
            "of Unicode, with a dictionary for languages without spaces; icu/split also as simple"
        ),
    )
    language: Language = Field("english", description="language of stop words and stemming")
    stem: bool = Field(True, description="reduce words to their Snowball stem")
    stop_words: bool = Field(True, description="drop the language's stop words")
    ascii_folding: bool = Field(True, description="strip diacritics")
    max_token_length: int = Field(40, ge=1, description="characters; longer terms are dropped")


class LanceIndexSettings(Settings):
    """LanceDB's vector index: partitions of k-means, with an HNSW graph in each or without.

    pq and sq quantise the vectors, to products and to 8 bits.
    """

    type: Literal["flat", "ivf-flat", "ivf-pq", "hnsw-flat", "hnsw-sq"] = Field(
        "flat", description="flat compares with every vector; the others are approximate"
    )
    partitions: int | None = Field(
        None, ge=1, description="partitions; null: the engine's, one for small collections"
    )
    nprobes: int = Field(20, ge=1, description="partitions that are searched")
    refine_factor: int | None = Field(
        None,
        ge=1,
        description=(
            "with quantised vectors: this many times the candidates are compared exactly; null: "
            "none, and their scores are estimates"
        ),
    )
    m: int = Field(20, ge=2, description="HNSW: edges of a node")
    ef_construction: int = Field(300, ge=4, description="HNSW: candidates when it is built")
    ef: int | None = Field(
        None,
        ge=1,
        description=(
            "HNSW: candidates when searching, never fewer than are asked for; null: the engine's, "
            "1.5 times as many"
        ),
    )
    sub_vectors: int | None = Field(
        None, ge=1, description="pq: parts of a vector; null: the engine's, dimensions / 16"
    )


class LanceDbSettings(AdapterSettings):
    """LanceDB, in this process: two lists from its core, fused by its Python client."""

    language_key: ClassVar[str] = "fts.language"
    capabilities: ClassVar[Capabilities] = Capabilities(
        "client",
        approximate=("ivf-flat", "ivf-pq", "hnsw-flat", "hnsw-sq"),
        extra="lancedb",
        modules=("lancedb",),
        packages=("lancedb",),
        restricts=True,
    )
    type: Literal["lancedb"]
    fusion: Literal["rrf", "linear"] = Field(
        "rrf",
        description=(
            "the client's reranker. rrf: RRFReranker; linear: LinearCombinationReranker, a "
            "weighted sum of both lists' scores, each scaled to between 0 and 1. Its own hybrid "
            "query takes as many candidates of each list as it returns; here `depth` says how many"
        ),
    )
    k: int = Field(
        60, ge=1, description="rrf's constant; a list adds 1 / (k + rank), ranks from 1, unweighted"
    )
    weight: float = Field(
        0.7, ge=0, le=1, description="linear: weight of the dense list; 1 - weight the keyword's"
    )
    fill: float = Field(
        1.0,
        ge=0,
        le=1,
        description="linear: 1 - fill is the scaled score where a text is missing in a list",
    )
    fts: LanceFtsSettings = Field(
        default_factory=LanceFtsSettings,
        description="the engine's keyword index",
    )
    index: LanceIndexSettings = Field(
        default_factory=LanceIndexSettings, description="the engine's dense index"
    )

    def make_formula(self) -> Formula:
        """Return the client's fusion, whose scores it stores in 32 bits."""
        if self.fusion == "rrf":
            return ReciprocalRanks(k=self.k, rounded=True)
        return DistanceAndScore(self.weight, self.fill)

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        flat = self.index.type == "flat"
        return [self.fts, *([] if flat else [self.index.model_dump(exclude=SEARCHING)])]

    def is_exact(self, texts: int) -> bool:
        """Return True if dense search compares with every vector."""
        return self.index.type == "flat"

    def build(self, resources: Resources) -> "LanceDbEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `lancedb` is not installed.
        """
        return LanceDbEngine(self, resources)


class OpenIndex(NamedTuple):
    """A table, the ids of its rows by the position of their text, ascending, and threads."""

    table: "lancedb.table.Table"
    rows: NDArray[np.int64]
    pool: ThreadPoolExecutor

    def positions(self, found: "pa.Table") -> list[int]:
        """Return the positions of rows that were found, in their order."""
        ids = found["_rowid"].to_numpy().astype(np.int64)
        return [int(i) for i in np.searchsorted(self.rows, ids)]


class LanceDbEngine(EmbeddedEngine[LanceDbSettings, OpenIndex]):
    """A table with a row a text, in the order of texts, that any number of processes read."""

    def metadata(self) -> Mapping[str, Any]:
        """Return also the constants of the engine's BM25."""
        return {**super().metadata(), "k1": K1, "b": B}

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        _build_table(folder / DATABASE, texts, vectors, self._settings)

    def _open(self, folder: Path) -> OpenIndex:
        return _open_table(folder / DATABASE)

    def _release(self, opened: OpenIndex) -> None:
        opened.pool.shutdown()  # the table has no more to close

    def _search_dense(self, opened: OpenIndex, vector: Vectors, limit: int) -> list[Scored]:
        found = self._near(opened, vector, limit)
        far = found["_distance"].to_numpy().astype(np.float64)
        return list(zip(opened.positions(found), (1 - far).tolist(), strict=True))

    def _search_keyword(self, opened: OpenIndex, text: str, limit: int) -> list[Scored]:
        found = self._match(opened, text, limit)
        return list(zip(opened.positions(found), found["_score"].to_pylist(), strict=True))

    def _search_hybrid(
        self, opened: OpenIndex, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts.

        The client's hybrid query cuts both lists and what it makes of them at one limit. Here both
        are fetched, at once as it does, but each to its own depth; the client scales and fuses.
        """
        from lancedb.query import LanceHybridQueryBuilder

        shared = opened.pool.submit(self._match, opened, text, self.depth.keyword)
        near = self._near(opened, vector, self.depth.dense)
        found = LanceHybridQueryBuilder._combine_hybrid_results(
            fts_results=shared.result(),
            vector_results=near,
            norm="score",
            fts_query=text,
            reranker=self._reranker(),
            limit=self.depth.dense + self.depth.keyword,
            with_row_ids=True,
        )
        scores = found["_relevance_score"].to_pylist()
        return list(zip(opened.positions(found), scores, strict=True))

    def _near(self, opened: OpenIndex, vector: Vectors, limit: int) -> "pa.Table":
        index = self._settings.index
        query = opened.table.search(vector, vector_column_name="vector", query_type="vector")
        query = query.distance_type(METRIC).limit(limit).select(["_distance"]).with_row_id(True)
        query = self._filter(opened, query)
        if index.type == "flat":
            return query.to_arrow()
        query = query.nprobes(index.nprobes)
        if index.refine_factor:
            query = query.refine_factor(index.refine_factor)
        if index.ef and index.type.startswith("hnsw"):
            # The engine refuses fewer than it is to give.
            query = query.ef(max(index.ef, limit * (index.refine_factor or 1)))
        return query.to_arrow()

    def _match(self, opened: OpenIndex, text: str, limit: int) -> "pa.Table":
        """Return the rows that have any of the terms of `text`, in which nothing is an operator."""
        from lancedb.query import MatchQuery

        query = opened.table.search(MatchQuery(text, "text"), query_type="fts")
        query = query.limit(limit).select(["_score"]).with_row_id(True)
        return self._filter(opened, query).to_arrow()

    def _filter(self, opened: OpenIndex, query: Q) -> Q:
        """Return a query for the rows that may be found."""
        if self._allowed is None:
            return query
        rows = ", ".join(map(str, opened.rows[self._allowed.positions].tolist()))
        filtered: Q = query.where(f"_rowid IN ({rows})", prefilter=True)
        return filtered

    def _reranker(self) -> "lancedb.rerankers.Reranker":
        from lancedb.rerankers import LinearCombinationReranker, RRFReranker

        settings = self._settings
        if settings.fusion == "rrf":
            return RRFReranker(settings.k)
        return LinearCombinationReranker(settings.weight, settings.fill)


def _build_table(
    path: Path, texts: Sequence[str], vectors: Vectors, settings: LanceDbSettings
) -> None:
    """Make a database at `path` with one row per text, in their order, and its indexes."""
    import lancedb
    import pyarrow as pa

    size = vectors.shape[1]
    schema = pa.schema({"text": pa.string(), "vector": pa.list_(pa.float32(), size)})

    def batch() -> Iterator[pa.RecordBatch]:
        for begin in range(0, len(texts), ROWS_PER_BATCH):
            rows = slice(begin, begin + ROWS_PER_BATCH)
            numbers = pa.array(vectors[rows].ravel(), pa.float32())
            columns = [
                pa.array(texts[rows], pa.string()),
                pa.FixedSizeListArray.from_arrays(numbers, size),
            ]
            yield pa.record_batch(columns, schema)

    table = lancedb.connect(path).create_table(TABLE, batch(), schema)
    table.create_index("text", config=_configure_terms(settings.fts))
    if settings.index.type != "flat":
        table.create_index("vector", config=_configure_vectors(settings.index))


def _open_table(path: Path) -> OpenIndex:
    """Open the table at `path`."""
    import lancedb

    table = lancedb.connect(path).open_table(TABLE)
    rows = table.search().select(["_rowid"]).with_row_id(True).to_arrow()["_rowid"]
    pool = ThreadPoolExecutor(thread_name_prefix="lancedb")
    return OpenIndex(table, np.sort(rows.to_numpy().astype(np.int64)), pool)


def _configure_terms(settings: LanceFtsSettings) -> Any:
    from lancedb.index import FTS

    return FTS(
        base_tokenizer=settings.tokenizer,
        language=settings.language.capitalize(),
        stem=settings.stem,
        remove_stop_words=settings.stop_words,
        ascii_folding=settings.ascii_folding,
        max_token_length=settings.max_token_length,
        num_workers=1,  # else half of the processor's cores: the index must not depend on them
    )


def _configure_vectors(settings: LanceIndexSettings) -> Any:
    from lancedb.index import HnswFlat, HnswSq, IvfFlat, IvfPq

    count = settings.partitions
    if settings.type == "ivf-flat":
        return IvfFlat(METRIC, count)
    if settings.type == "ivf-pq":
        return IvfPq(METRIC, count, settings.sub_vectors)
    graph = HnswFlat if settings.type == "hnsw-flat" else HnswSq
    return graph(METRIC, count, m=settings.m, ef_construction=settings.ef_construction)
