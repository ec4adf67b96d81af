"""Tantivy: words alone, by BM25 in Rust."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.retrievers.base import IndexReport
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.one_list import OneList
from assay.retrievers.engines.raw_client import BareClient, Request
from assay.retrievers.engines.tantivy.index import (
    FOLDER,
    POSITION,
    OpenIndex,
    build_index,
    open_index,
)
from assay.retrievers.engines.tantivy.scores import K1, B, Bm25
from assay.retrievers.engines.tantivy.settings import TantivyIndexSettings
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources
from assay.retrievers.text import analyzers

if TYPE_CHECKING:
    import tantivy

STATEMENT = (
    f"sum over terms of ln(1 + (N - df + 0.5) / (df + 0.5)) × {1 + K1} tf / (tf + {K1} × "
    f"({1 - B} + {B} × length / mean length)), lengths rounded as Lucene's"
)


class TantivySettings(TantivyIndexSettings):
    """Tantivy, in this process: words alone, by BM25 in Rust; fused here with other legs."""

    def build(self, resources: Resources) -> "TantivyEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `tantivy` is not installed.
        """
        return TantivyEngine(self, resources)


class TantivyEngine(EmbeddedEngine[TantivySettings, OpenIndex]):
    """An index of terms and positions, read by any number of processes; equal scores by position.

    The version of its format is that of the package.
    """

    @property
    def formula(self) -> Formula:
        """The engine's BM25."""
        return OneList("keyword", STATEMENT)

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Find the index, or make it, and open it; `vectors` are left alone."""
        report = super().index(texts, vectors, "")
        self._indexed = texts
        self._stated: Bm25 | None = None
        return report

    def score_terms(self, text: str) -> list[Scored]:
        """Return all texts that share terms with `text`, scored here by the formula."""
        if self._opened is None:
            return []
        analyze = self._opened.analyze
        if self._stated is None:
            self._stated = Bm25([analyze(indexed) for indexed in self._indexed])
        return self._stated.score(analyze(text))

    def metadata(self) -> Mapping[str, Any]:
        """Return also the constants of the engine's BM25."""
        return {**super().metadata(), "k1": K1, "b": B}

    @property
    def _orders_ties(self) -> bool:
        return self._opened is not None and self._opened.whole

    @property
    def _exact(self) -> bool:
        return True

    def _list_versions(self) -> Sequence[str]:
        """Return also those that decide the terms of an analyzer of this project."""
        analyzer = self._settings.text.analyzer
        used = analyzers.find_versions(analyzer).values() if analyzer else ()
        return [*super()._list_versions(), *used]

    def _shape(self) -> Sequence[Any]:
        return [self._settings.text]

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        build_index(folder / FOLDER, self._track(len(texts)), texts, self._settings.text)

    def _open(self, folder: Path) -> OpenIndex:
        return open_index(folder / FOLDER, self._settings.text)

    def _search_keyword(self, opened: OpenIndex, text: str, limit: int) -> list[Scored]:
        from tantivy import Query

        query = opened.make_query(text)
        if self._allowed is not None:
            wanted = Query.term_set_query(opened.schema, POSITION, self._allowed.tolist())
            query = query.and_must_match(Query.const_score_query(wanted, 0.0))
        return _ask(opened, query, limit)

    def _open_bare(self, opened: OpenIndex) -> BareClient:
        """Return the index's searcher itself: it has no client."""

        def keyword(text: str, limit: int) -> Request:
            query = opened.make_query(text)
            return lambda: _ask(opened, query, limit)

        return BareClient(None, keyword, lambda: None)


def _ask(opened: OpenIndex, query: "tantivy.Query", limit: int) -> list[Scored]:
    """Return (position, score) of a query's hits."""
    hits = opened.searcher.search(query, limit, count=False).hits
    if not hits:
        return []
    positions = opened.searcher.fast_field_values(POSITION, [address for _, address in hits])
    return list(zip(positions, (score for score, _ in hits), strict=True))
