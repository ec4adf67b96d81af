"""Zvec: a store in this process, in C++, which fuses its own dense and keyword lists."""

import importlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from retrievers.base import AssayError, IndexReport
from retrievers.engines.base import (
    Capabilities,
    Engine,
    LegWeights,
    StoreSettings,
    check_dimensions,
)
from retrievers.engines.copies import allocated
from retrievers.engines.file_integrity import check_seal, seal
from retrievers.engines.formulas import ArctangentScores, Formula, ReciprocalRanks
from retrievers.engines.recall import measure_recall
from retrievers.engines.zvec.collection import build_collection, open_collection, set_up
from retrievers.models.base import Vectors
from retrievers.ranking import Scored, ordered
from retrievers.settings import Settings, Workshop
from retrievers.store.digest import digest, digest_sources

if TYPE_CHECKING:
    import zvec

COLLECTION = "collection"
# The engine's BM25 takes no others; its idf is ln(1 + (N - df + 0.5) / (df + 0.5)).
K1, B = 1.2, 0.75
NO_TERMS = "-"

Language = Literal[
    "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "english", "esperanto",
    "estonian", "finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish",
    "italian", "lithuanian", "nepali", "norwegian", "polish", "porter", "portuguese", "romanian",
    "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
]  # fmt: skip


class ZvecAnalyzerSettings(Settings):
    """Zvec's BM25, of fixed k1 = 1.2 and b = 0.75: terms in lower case, no stop words dropped."""

    tokenizer: Literal["standard", "whitespace", "jieba"] = Field(
        "standard",
        description=(
            "standard splits at the word boundaries of Unicode, so that parse_json and 2.3 stay "
            "whole; whitespace; jieba for Chinese"
        ),
    )
    language: Language | None = Field(
        "english", description="language of the Snowball stemmer; null: no stemming"
    )
    ascii_folding: bool = Field(False, description="strip diacritics")


class ZvecSettings(StoreSettings):
    """Zvec, in this process: dense and BM25 lists fused inside the engine."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine", approximate=("hnsw",), extra="zvec"
    )
    type: Literal["zvec"]
    fusion: Literal["rrf", "weighted"] = Field(
        "rrf",
        description=(
            "rrf: reciprocal rank fusion; weighted: sum of scores, each brought to between 0 and 1"
        ),
    )
    k: int = Field(
        60, ge=1, description="rrf's constant; a list adds 1 / (k + rank), ranks from 1, unweighted"
    )
    weights: LegWeights = Field(
        default_factory=LegWeights, description="weighted only; they multiply scores"
    )
    metric: Literal["cosine", "ip"] = Field(
        "cosine",
        description=(
            "what the dense index compares by: cosine or inner product, which order alike here; in "
            "weighted fusion (1 + cosine) / 2 or 1/2 + arctan(cosine) / pi; a keyword score is "
            "2 arctan(score) / pi there"
        ),
    )
    analyzer: ZvecAnalyzerSettings = Field(
        default_factory=ZvecAnalyzerSettings,
        description="the engine's keyword index",
    )
    exact: bool = Field(True, description="compare with every vector; false: an HNSW graph")
    m: int = Field(50, ge=2, description="HNSW: edges of a node")
    ef_construction: int = Field(500, ge=1, description="HNSW: candidates when it is built")
    ef: int = Field(
        300, ge=1, description="HNSW: candidates when searching; never fewer than are asked for"
    )

    @model_validator(mode="after")
    def _can_weigh(self) -> "ZvecSettings":
        if self.fusion == "rrf" and self.weights != LegWeights():
            raise ValueError("fusion rrf has no weights in Zvec; leave them out, or use weighted")
        return self

    def build(self, workshop: Workshop) -> "ZvecEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `zvec` is not installed.
        """
        return ZvecEngine(self, workshop)


class ZvecEngine(Engine):
    """A collection of documents that have a text's position as id, the text and its vector.

    The cache holds it as it was built; any number of processes open it at once, read-only.
    """

    def __init__(self, settings: ZvecSettings, workshop: Workshop) -> None:
        try:
            importlib.import_module("zvec")
        except ImportError:
            raise AssayError(
                "engine zvec: needs the extra `zvec`: pip install 'assay[zvec]'"
            ) from None
        self.depth = settings.depth
        self._settings = settings
        self._workshop = workshop
        self._collection: zvec.Collection | None = None
        self._dimensions = 0
        self._measured: dict[str, Any] = {}

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Build the collection, or find it in the cache, and open it."""
        self.close()
        if not texts:
            return IndexReport(0)
        set_up(self._workshop.threads)
        folder, self._collection = self._workshop.cache.load(
            "zvec",
            self._key(texts, identity),
            lambda path: self._make(path, texts, vectors),
            _open,
        )
        self._dimensions = vectors.shape[1]
        if not self._settings.exact:
            self._measured = {"recall_against_exact": measure_recall(self.dense, vectors)}
        return IndexReport(
            chunks=len(texts),
            seconds={"engine": folder.seconds},
            bytes=allocated(folder.path),
            cached=("engine",) if folder.cached else (),
        )

    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine; the order of equal ones is the engine's."""
        if self._collection is None:
            return []
        check_dimensions("zvec", vector, self._dimensions)
        found = self._collection.query(self._near(vector), topk=limit, output_fields=[])
        if self._settings.metric == "cosine":  # the engine gives its distance
            return [(int(document.id), 1 - document.score) for document in found]
        return [(int(document.id), document.score) for document in found]

    def keyword(self, text: str, limit: int) -> list[Scored]:
        """Return the texts of greatest BM25 score; the order of equal ones is the engine's."""
        if self._collection is None:
            return []
        found = self._collection.query(_match(text), topk=limit, output_fields=[])
        return [(int(document.id), document.score) for document in found]

    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        """Return the fused texts.

        The engine breaks ties at random, so it is asked for all that it fused, and cut here. Its
        Python client asks for as many candidates of each list as it returns: the number of each is
        set in the query that the client makes.
        """
        from zvec.executor import QueryContext, QueryExecutor

        if self._collection is None:
            return []
        check_dimensions("zvec", vector, self._dimensions)
        context = QueryContext(
            topk=self.depth.dense + self.depth.keyword,
            queries=[self._near(vector), _match(text)],
            output_fields=[],
            reranker=self._fusion(),
        )
        executor, core = QueryExecutor(self._collection.schema), self._collection._obj
        query = executor._build_multi_query(context, executor._build_queries(context, core))
        for part, depth in zip(query.queries, (self.depth.dense, self.depth.keyword), strict=True):
            part.num_candidates = depth
        return ordered((int(id_), score) for id_, score, *_ in core.Query(query))[:limit]

    @property
    def formula(self) -> Formula:
        """The engine's fusion, whose sums it rounds to 32 bits."""
        if self._settings.fusion == "rrf":
            return ReciprocalRanks(k=self._settings.k, rounded=True)
        weights = self._settings.weights
        return ArctangentScores((weights.dense, weights.keyword), self._settings.metric)

    def facts(self) -> Mapping[str, Any]:
        """Return also the constants of the engine's BM25."""
        return {
            "engine": "zvec",
            "version": version("zvec"),
            "exact": self._settings.exact,
            "k1": K1,
            "b": B,
            **self._measured,
        }

    def close(self) -> None:
        """Close the collection."""
        if self._collection is not None:
            self._collection.close()
        self._collection, self._dimensions, self._measured = None, 0, {}

    def _key(self, texts: Sequence[str], identity: str) -> str:
        settings, here = self._settings, Path(__file__)
        graph = [] if settings.exact else [settings.m, settings.ef_construction]
        return digest(
            digest_sources(
                here, here.parents[1] / "file_integrity.py", here.with_name("collection.py")
            ),
            version("zvec"),
            settings.analyzer,
            settings.metric,
            graph,
            identity,
            texts,
        )

    def _make(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        """Write the collection into `folder`."""
        build_collection(
            folder / COLLECTION, texts, vectors, self._settings, self._workshop.threads
        ).close()
        seal(folder)

    def _near(self, vector: Vectors) -> "zvec.Query":
        import zvec

        param = None if self._settings.exact else zvec.HnswQueryParam(self._settings.ef)
        return zvec.Query("dense", vector=vector, param=param)

    def _fusion(self) -> Any:
        import zvec

        if self._settings.fusion == "rrf":
            return zvec.RrfReRanker(self._settings.k)
        return zvec.WeightedReRanker([self._settings.weights.dense, self._settings.weights.keyword])


def _open(folder: Path) -> "zvec.Collection":
    """Open the collection in `folder`, once its files are known to be whole."""
    check_seal(folder)
    return open_collection(folder / COLLECTION)


def _match(text: str) -> "zvec.Query":
    """Return the query for any of the terms of `text`, in which nothing is an operator."""
    import zvec

    # A blank text is refused, one without terms is not.
    return zvec.Query("text", fts=zvec.Fts(match_string=text if text.strip() else NO_TERMS))
