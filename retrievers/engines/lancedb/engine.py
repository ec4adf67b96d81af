"""LanceDB, in this process: both lists from its Rust core, fused in Python by its client."""

import importlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from retrievers.base import AssayError, IndexReport
from retrievers.engines.base import Capabilities, Engine, StoreSettings, check_dimensions
from retrievers.engines.copies import allocated
from retrievers.engines.file_integrity import check_seal, seal
from retrievers.engines.formulas import DistanceAndScore, Formula, ReciprocalRanks
from retrievers.engines.lancedb.table import METRIC, Opened, build_table, open_table
from retrievers.engines.recall import measure_recall
from retrievers.models.base import Vectors
from retrievers.ranking import Scored, ordered
from retrievers.settings import Settings, Workshop
from retrievers.store.digest import digest, digest_sources

if TYPE_CHECKING:
    import lancedb.rerankers
    import pyarrow as pa

DATABASE = "database"
# The engine's BM25 takes no others; its idf is ln(1 + (N - df + 0.5) / (df + 0.5)).
K1, B = 1.2, 0.75
# What of the index's settings counts only when it is searched.
SEARCHING = {"nprobes", "refine_factor", "ef"}

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


class LanceDbSettings(StoreSettings):
    """LanceDB, in this process: two lists from its core, fused by its Python client."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "client", approximate=("ivf-flat", "ivf-pq", "hnsw-flat", "hnsw-sq"), extra="lancedb"
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

    def build(self, workshop: Workshop) -> "LanceDbEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `lancedb` is not installed.
        """
        return LanceDbEngine(self, workshop)


class LanceDbEngine(Engine):
    """A table with a row a text, in the order of texts, that any number of processes read."""

    def __init__(self, settings: LanceDbSettings, workshop: Workshop) -> None:
        try:
            importlib.import_module("lancedb")
        except ImportError:
            raise AssayError(
                "engine lancedb: needs the extra `lancedb`: pip install 'assay[lancedb]'"
            ) from None
        self.depth = settings.depth
        self._settings = settings
        self._workshop = workshop
        self._opened: Opened | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._dimensions = 0
        self._measured: dict[str, Any] = {}

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Build the table, or find it in the cache, and open it."""
        self.close()
        if not texts:
            return IndexReport(0)
        folder, self._opened = self._workshop.cache.load(
            "lancedb",
            self._key(texts, identity),
            lambda path: self._make(path, texts, vectors),
            _open,
        )
        self._pool = ThreadPoolExecutor(thread_name_prefix="lancedb")
        self._dimensions = vectors.shape[1]
        if self._settings.index.type != "flat":
            self._measured = {"recall_against_exact": measure_recall(self.dense, vectors)}
        return IndexReport(
            chunks=len(texts),
            seconds={"engine": folder.seconds},
            bytes=allocated(folder.path),
            cached=("engine",) if folder.cached else (),
        )

    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine; the order of equal ones is the engine's."""
        if self._opened is None:
            return []
        check_dimensions("lancedb", vector, self._dimensions)
        found = self._near(self._opened, vector, limit)
        far = found["_distance"].to_numpy().astype(np.float64)
        return list(zip(self._opened.positions(found), (1 - far).tolist(), strict=True))

    def keyword(self, text: str, limit: int) -> list[Scored]:
        """Return the texts of greatest BM25 score; the order of equal ones is the engine's."""
        if self._opened is None:
            return []
        found = _match(self._opened, text, limit)
        return list(zip(self._opened.positions(found), found["_score"].to_pylist(), strict=True))

    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        """Return the fused texts.

        The client's hybrid query cuts both lists and what it makes of them at one limit. Here both
        are fetched, at once as it does, but each to its own depth; the client scales and fuses.
        """
        from lancedb.query import LanceHybridQueryBuilder

        if self._opened is None or self._pool is None:
            return []
        check_dimensions("lancedb", vector, self._dimensions)
        shared = self._pool.submit(_match, self._opened, text, self.depth.keyword)
        near = self._near(self._opened, vector, self.depth.dense)
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
        return ordered(zip(self._opened.positions(found), scores, strict=True))[:limit]

    @property
    def formula(self) -> Formula:
        """The client's fusion, whose scores it stores in 32 bits."""
        if self._settings.fusion == "rrf":
            return ReciprocalRanks(k=self._settings.k, rounded=True)
        return DistanceAndScore(self._settings.weight, self._settings.fill)

    def facts(self) -> Mapping[str, Any]:
        """Return also the constants of the engine's BM25."""
        return {
            "engine": "lancedb",
            "version": version("lancedb"),
            "exact": self._settings.index.type == "flat",
            "k1": K1,
            "b": B,
            **self._measured,
        }

    def close(self) -> None:
        """Let go of the table, which has no more to close."""
        if self._pool is not None:
            self._pool.shutdown()
        self._opened, self._pool, self._dimensions, self._measured = None, None, 0, {}

    def _key(self, texts: Sequence[str], identity: str) -> str:
        settings, here = self._settings, Path(__file__)
        return digest(
            digest_sources(here, here.parents[1] / "file_integrity.py", here.with_name("table.py")),
            version("lancedb"),
            settings.fts,
            [] if settings.index.type == "flat" else settings.index.model_dump(exclude=SEARCHING),
            identity,
            texts,
        )

    def _make(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        """Write the table into `folder`."""
        build_table(folder / DATABASE, texts, vectors, self._settings)
        seal(folder)

    def _near(self, opened: Opened, vector: Vectors, limit: int) -> "pa.Table":
        index = self._settings.index
        query = opened.table.search(vector, vector_column_name="vector", query_type="vector")
        query = query.distance_type(METRIC).limit(limit).select(["_distance"]).with_row_id(True)
        if index.type == "flat":
            return query.to_arrow()
        query = query.nprobes(index.nprobes)
        if index.refine_factor:
            query = query.refine_factor(index.refine_factor)
        if index.ef and index.type.startswith("hnsw"):
            # The engine refuses fewer than it is to give.
            query = query.ef(max(index.ef, limit * (index.refine_factor or 1)))
        return query.to_arrow()

    def _reranker(self) -> "lancedb.rerankers.Reranker":
        from lancedb.rerankers import LinearCombinationReranker, RRFReranker

        settings = self._settings
        if settings.fusion == "rrf":
            return RRFReranker(settings.k)
        return LinearCombinationReranker(settings.weight, settings.fill)


def _open(folder: Path) -> Opened:
    """Open the table in `folder`, once its files are known to be whole."""
    check_seal(folder)
    return open_table(folder / DATABASE)


def _match(opened: Opened, text: str, limit: int) -> "pa.Table":
    """Return the rows that have any of the terms of `text`, in which nothing is an operator."""
    from lancedb.query import MatchQuery

    query = opened.table.search(MatchQuery(text, "text"), query_type="fts")
    return query.limit(limit).select(["_score"]).with_row_id(True).to_arrow()
