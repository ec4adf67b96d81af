"""DuckDB: its extensions fts and vss in one database file, fused in one SQL statement."""

import importlib.util
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, field_validator

from retrievers.base import AssayError, IndexReport
from retrievers.engines.base import Capabilities
from retrievers.engines.duckdb.file import APPROXIMATE, EXACT, FILE, build_file, open_file
from retrievers.engines.pool import Pool
from retrievers.engines.recall import measure_recall
from retrievers.engines.statements import Select, StatementEngine, StatementSettings
from retrievers.models.base import Vectors
from retrievers.ranking import DECIMALS, Scored
from retrievers.settings import Settings, Workshop
from retrievers.store.digest import digest, digest_sources

if TYPE_CHECKING:
    import duckdb

PACKAGES = ("duckdb", "duckdb_extension_fts", "duckdb_extension_vss")
# The engine adds up in an order of its own, by thread and by text. Rounding keeps equal evidence
# equal; null is the score of a text that shares no term.
MATCHES = f"""SELECT position, round(score, {DECIMALS}) AS score FROM (
    SELECT position, fts_main_texts.match_bm25(position, $text, k := $k1, b := $b) AS score
    FROM texts
) WHERE score IS NOT NULL ORDER BY 2 DESC, position LIMIT $keyword_depth"""
NEIGHBOURS = """SELECT position,
    array_cosine_similarity(embedding, $vector::FLOAT[{dimensions}])::DOUBLE AS score
FROM texts ORDER BY score DESC, position LIMIT $dense_depth"""
# The graph is used only where the bare distance is selected and ordered by, and nothing else.
GRAPH_NEIGHBOURS = """SELECT position, 1 - distance::DOUBLE AS score FROM (
    SELECT position, array_cosine_distance(embedding, $vector::FLOAT[{dimensions}]) AS distance
    FROM texts ORDER BY distance LIMIT $dense_depth
)"""

Stemmer = Literal[
    "none", "arabic", "basque", "catalan", "danish", "dutch", "english", "finnish", "french",
    "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian",
    "nepali", "norwegian", "porter", "portuguese", "romanian", "russian", "serbian", "spanish",
    "swedish", "tamil", "turkish",
]  # fmt: skip


class DuckDbBm25Settings(Settings):
    """DuckDB's BM25, with idf = log10(1 + (N - df + 0.5) / (df + 0.5))."""

    k1: float = Field(1.2, ge=0, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )
    stemmer: Stemmer = Field("english", description="language of stemming")
    stop_words: Literal["english", "none"] = Field(
        "english", description="words that are not indexed: the engine's 571 English ones, or none"
    )
    ignore: str = Field(
        r"[^\p{L}\p{M}\p{N}]+",
        description=(
            "what separates terms, as a regular expression of RE2; the engine's own is "
            r"(\.|[^a-z])+, which drops digits and all other alphabets"
        ),
    )
    strip_accents: bool = Field(True, description="strip diacritics")

    @field_validator("ignore")
    @classmethod
    def _can_separate(cls, pattern: str) -> str:
        if not pattern or "\0" in pattern:
            raise ValueError("must not be empty")
        return pattern


class DuckDbSettings(StatementSettings):
    """DuckDB, in this process: its BM25 and cosine or HNSW search fused in one SQL statement."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "statement", approximate=("hnsw",), extra="duckdb"
    )
    type: Literal["duckdb"]
    bm25: DuckDbBm25Settings = Field(
        default_factory=DuckDbBm25Settings, description="the engine's keyword index"
    )
    exact: bool = Field(True, description="compare with every vector; false: an HNSW graph")
    m: int = Field(16, ge=2, description="HNSW: edges of a node; at its lowest level twice as many")
    ef_construction: int = Field(
        128, ge=1, description="HNSW: candidates when the graph is built, by one thread"
    )
    ef_search: int = Field(
        64, ge=1, description="HNSW: candidates when searching; at least depth.dense are taken"
    )

    def build(self, workshop: Workshop) -> "DuckDbEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `duckdb` is not installed.
        """
        return DuckDbEngine(self, workshop)


class DuckDbEngine(StatementEngine):
    """One table of positions, texts and vectors, with the tables and macros of its term index.

    The file is attached read-only to a database in memory, by any number of engines and processes.
    """

    name = "duckdb"

    def __init__(self, settings: DuckDbSettings, workshop: Workshop) -> None:
        super().__init__(settings)
        if not all(map(importlib.util.find_spec, PACKAGES)):
            raise AssayError("engine duckdb: needs the extra `duckdb`: pip install 'assay[duckdb]'")
        self._settings = settings
        self._workshop = workshop
        self._database: duckdb.DuckDBPyConnection | None = None
        self._pool: Pool[duckdb.DuckDBPyConnection] | None = None
        self._measured: dict[str, Any] = {}

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Build the database, or find it in the cache, and open it."""
        self.close()
        if not texts:
            return IndexReport(0)
        extensions = EXACT if self._settings.exact else APPROXIMATE
        folder, self._database = self._workshop.cache.load(
            "duckdb",
            self._key(texts, identity),
            lambda path: build_file(path / FILE, texts, vectors, self._settings),
            lambda path: open_file(path / FILE, self._workshop.threads, extensions),
        )
        self._pool = Pool(self._connect)
        self._dimensions = vectors.shape[1]
        if not self._settings.exact:
            self._measured = {"recall_against_exact": measure_recall(self.dense, vectors)}
        return IndexReport(
            chunks=len(texts),
            seconds={"engine": folder.seconds},
            bytes=(folder.path / FILE).stat().st_size,
            cached=("engine",) if folder.cached else (),
        )

    def facts(self) -> Mapping[str, Any]:
        """What the contract asks for."""
        return {
            "engine": self.name,
            "version": version("duckdb"),
            "exact": self._settings.exact,
            **self._measured,
        }

    def close(self) -> None:
        """Close the database."""
        if self._pool is not None:
            self._pool.close()
        if self._database is not None:
            self._database.close()
        self._pool, self._database, self._dimensions, self._measured = None, None, 0, {}

    def _key(self, texts: Sequence[str], identity: str) -> str:
        settings, here = self._settings, Path(__file__)
        return digest(
            digest_sources(here.with_name("file.py")),
            [version(package) for package in PACKAGES],
            settings.bm25.model_dump(exclude={"k1", "b"}),
            [] if settings.exact else [settings.m, settings.ef_construction],
            identity,
            texts,
        )

    def _connect(self) -> "duckdb.DuckDBPyConnection":
        """Open one more connection to the database: what it sets holds for itself alone."""
        assert self._database is not None
        connection = self._database.cursor()
        connection.execute("USE store")
        if not self._settings.exact:
            connection.execute(f"SET hnsw_ef_search = {self._settings.ef_search}")
        return connection

    def _select_dense(self, vector: Vectors, limit: int) -> Select:
        statement = NEIGHBOURS if self._settings.exact else GRAPH_NEIGHBOURS
        return Select(
            statement.format(dimensions=len(vector)),
            {"vector": vector.tolist(), "dense_depth": limit},
        )

    def _select_keyword(self, text: str, limit: int) -> Select:
        bm25 = self._settings.bm25
        return Select(MATCHES, {"text": text, "k1": bm25.k1, "b": bm25.b, "keyword_depth": limit})

    def _ask(self, statement: str, parameters: Mapping[str, Any]) -> list[Scored]:
        import duckdb

        if self._pool is None:
            return []
        try:
            with self._pool.lend() as connection:
                rows: list[Scored] = connection.execute(statement, parameters).fetchall()
        except duckdb.Error as error:
            raise AssayError(f"engine duckdb: {str(error).splitlines()[0]}") from None
        return rows
