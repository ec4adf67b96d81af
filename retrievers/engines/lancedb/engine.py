"""LanceDB, in this process: both lists from its Rust core, fused in Python by its client."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.formulas import DistanceAndScore, Formula, ReciprocalRanks
from assay.retrievers.engines.lancedb.settings import LanceTableSettings
from assay.retrievers.engines.lancedb.table import METRIC, OpenIndex, build_table, open_table
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

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


class LanceDbSettings(LanceTableSettings):
    """LanceDB, in this process: two lists from its core, fused by its Python client."""

    def build(self, resources: Resources) -> "LanceDbEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `lancedb` is not installed.
        """
        return LanceDbEngine(self, resources)


class LanceDbEngine(EmbeddedEngine[LanceDbSettings, OpenIndex]):
    """A table with a row a text, in the order of texts, that any number of processes read."""

    @property
    def formula(self) -> Formula:
        """The client's fusion, whose scores it stores in 32 bits."""
        if self._settings.fusion == "rrf":
            return ReciprocalRanks(k=self._settings.k, rounded=True)
        return DistanceAndScore(self._settings.weight, self._settings.fill)

    def metadata(self) -> Mapping[str, Any]:
        """Return also the constants of the engine's BM25."""
        return {**super().metadata(), "k1": K1, "b": B}

    @property
    def _exact(self) -> bool:
        return self._settings.index.type == "flat"

    def _shape(self) -> Sequence[Any]:
        index = [] if self._exact else [self._settings.index.model_dump(exclude=SEARCHING)]
        return [self._settings.fts, *index]

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        build_table(folder / DATABASE, texts, vectors, self._settings)

    def _open(self, folder: Path) -> OpenIndex:
        return open_table(folder / DATABASE)

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
        rows = ", ".join(map(str, opened.rows[self._allowed].tolist()))
        filtered: Q = query.where(f"_rowid IN ({rows})", prefilter=True)
        return filtered

    def _reranker(self) -> "lancedb.rerankers.Reranker":
        from lancedb.rerankers import LinearCombinationReranker, RRFReranker

        settings = self._settings
        if settings.fusion == "rrf":
            return RRFReranker(settings.k)
        return LinearCombinationReranker(settings.weight, settings.fill)


def _make_table(ids: Sequence[int], vectors: Vectors) -> "pa.Table":
    import pyarrow as pa

    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "vector": pa.FixedSizeListArray.from_arrays(
                pa.array(vectors.ravel(), pa.float32()), vectors.shape[1]
            ),
        }
    )
