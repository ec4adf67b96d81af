"""Zvec: a store in this process, in C++, which fuses its own dense and keyword lists."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.retrievers.base import AssayError
from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.embedded import EmbeddedEngine
from assay.retrievers.engines.formulas import ArctangentScores, Formula, ReciprocalRanks
from assay.retrievers.engines.raw_client import BareClient, Request
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.zvec.settings import ZvecAnalyzerSettings, ZvecCollectionSettings
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

if TYPE_CHECKING:
    import zvec


COLLECTION = "collection"
# The engine's BM25 takes no others; its idf is ln(1 + (N - df + 0.5) / (df + 0.5)).
K1, B = 1.2, 0.75
NO_TERMS = "-"


class ZvecSettings(ZvecCollectionSettings):
    """Zvec, in this process: dense and BM25 lists fused inside the engine."""

    def build(self, resources: Resources) -> "ZvecEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `zvec` is not installed.
        """
        return ZvecEngine(self, resources)


class OpenIndex(NamedTuple):
    """An open collection, and the folder of this process in which it lies."""

    collection: "zvec.Collection"
    copy: OwnFolder


class ZvecEngine(EmbeddedEngine[ZvecSettings, OpenIndex]):
    """A collection of documents that have a text's position as id, the text and its vector."""

    _most_listed = 20_000  # the engine refuses more

    @property
    def formula(self) -> Formula:
        """The engine's fusion, whose sums it rounds to 32 bits."""
        if self._settings.fusion == "rrf":
            return ReciprocalRanks(k=self._settings.k, rounded=True)
        weights = self._settings.weights
        return ArctangentScores((weights.dense, weights.keyword), self._settings.metric)

    def metadata(self) -> Mapping[str, Any]:
        """Return also the constants of the engine's BM25."""
        return {**super().metadata(), "k1": K1, "b": B}

    @property
    def _exact(self) -> bool:
        return self._settings.exact

    def _shape(self) -> Sequence[Any]:
        settings = self._settings
        graph = [] if settings.exact else [settings.m, settings.ef_construction]
        return [settings.analyzer, settings.metric, *graph]

    def _build(self, folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
        path, threads = folder / COLLECTION, self._resources.threads
        positions = self._track(len(texts))
        build_collection(path, positions, texts, vectors, self._settings, threads).close()

    def _open(self, folder: Path) -> OpenIndex:
        copy = OwnFolder("zvec")  # the engine writes a time into what it only reads
        try:
            path = shutil.copytree(folder / COLLECTION, copy.path / COLLECTION)
            return OpenIndex(open_collection(path, self._resources.threads), copy)
        except BaseException:
            copy.close()
            raise

    def _release(self, opened: OpenIndex) -> None:
        opened.collection.close()
        opened.copy.close()

    def _search_dense(self, opened: OpenIndex, vector: Vectors, limit: int) -> list[Scored]:
        found = self._ask(opened, self._near(vector), limit)
        if self._settings.metric == "cosine":  # the engine gives its distance
            return [(int(document.id), 1 - document.score) for document in found]
        return [(int(document.id), document.score) for document in found]

    def _search_keyword(self, opened: OpenIndex, text: str, limit: int) -> list[Scored]:
        found = self._ask(opened, _match(text), limit)
        return [(int(document.id), document.score) for document in found]

    def _ask(self, opened: OpenIndex, query: "zvec.Query", limit: int) -> "list[zvec.Doc]":
        found: list[Any] = opened.collection.query(
            query, topk=limit, filter=self._filter(), output_fields=[]
        )
        return found

    def _filter(self) -> str | None:
        """Return what is met by the texts that may be found; None where all may be."""
        if (listed := self._list_fewer()) is None:
            return None
        return f"position {'not in' if listed.others else 'in'} ({str(listed.positions)[1:-1]})"

    def _search_hybrid(
        self, opened: OpenIndex, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts: the engine breaks ties at random.

        Its Python client asks for as many candidates of each list as it returns: the number of
        each is set in the query that the client makes.
        """
        from zvec.executor import QueryContext, QueryExecutor

        context = QueryContext(
            topk=self.depth.dense + self.depth.keyword,
            queries=[self._near(vector), _match(text)],
            filter=self._filter(),
            output_fields=[],
            reranker=self._fusion(),
        )
        executor, core = QueryExecutor(opened.collection.schema), opened.collection._obj
        query = executor._build_multi_query(context, executor._build_queries(context, core))
        for part, depth in zip(query.queries, (self.depth.dense, self.depth.keyword), strict=True):
            part.num_candidates = depth
        return [(int(id_), score) for id_, score, *_ in core.Query(query)]

    def _open_bare(self, opened: OpenIndex) -> BareClient:
        """Return the collection, which a process opens once."""

        def ready(query: "zvec.Query", limit: int) -> Request:
            return lambda: [
                (each.id, each.score)
                for each in opened.collection.query(query, topk=limit, output_fields=[])
            ]

        return BareClient(
            dense=lambda vector, limit: ready(self._near(vector), limit),
            keyword=lambda text, limit: ready(_match(text), limit),
            close=lambda: None,
        )

    def _near(self, vector: Vectors) -> "zvec.Query":
        import zvec

        param = None if self._settings.exact else zvec.HnswQueryParam(self._settings.ef)
        return zvec.Query("dense", vector=vector, param=param)

    def _fusion(self) -> Any:
        import zvec

        if self._settings.fusion == "rrf":
            return zvec.RrfReRanker(self._settings.k)
        return zvec.WeightedReRanker([self._settings.weights.dense, self._settings.weights.keyword])


def _match(text: str) -> "zvec.Query":
    """Return the query for any of the terms of `text`, in which nothing is an operator."""
    import zvec

    # A blank text is refused, one without terms is not.
    return zvec.Query("text", fts=zvec.Fts(match_string=text if text.strip() else NO_TERMS))


DOCUMENTS_PER_INSERT = 1000  # the engine refuses more than 1,024


@cache
def set_up(threads: int) -> None:
    """Set up the engine, which a process does once; what it would log, it also raises."""
    import zvec

    zvec.init(log_level=zvec.LogLevel.FATAL, query_threads=threads, optimize_threads=threads)


def build_collection(
    path: Path,
    positions: Iterable[int],
    texts: Sequence[str],
    vectors: Vectors,
    settings: ZvecCollectionSettings,
    threads: int,
) -> "zvec.Collection":
    """Make a collection at `path` with one document a text, its position as id, and its indexes.

    `positions` are those of all texts, in order. The keyword index is made of all texts at once,
    which takes less than text by text.
    """
    import zvec

    set_up(threads)
    collection = zvec.create_and_open(str(path), _make_schema(vectors.shape[1], settings))
    for chosen in batch(positions, DOCUMENTS_PER_INSERT):
        statuses = collection.insert(
            [
                zvec.Doc(
                    str(i), fields={"text": texts[i], "position": i}, vectors={"dense": vectors[i]}
                )
                for i in chosen
            ]
        )
        if failed := [status.message() for status in statuses if not status.ok()]:
            raise AssayError(f"zvec: the engine did not take a text: {failed[0]}")
    collection.create_index("text", _make_analyzer(settings.analyzer), zvec.IndexOption(threads))
    collection.optimize(zvec.OptimizeOption(threads))
    return collection


def open_collection(path: Path, threads: int) -> "zvec.Collection":
    """Open the collection at `path` as one that nobody changes."""
    import zvec

    set_up(threads)
    return zvec.open(str(path), zvec.CollectionOption(read_only=True))


def _make_schema(dimensions: int, settings: ZvecCollectionSettings) -> "zvec.CollectionSchema":
    import zvec

    metric = getattr(zvec.MetricType, settings.metric.upper())
    index = (
        zvec.FlatIndexParam(metric)
        if settings.exact
        else zvec.HnswIndexParam(metric, settings.m, settings.ef_construction)
    )
    return zvec.CollectionSchema(
        "texts",
        fields=[
            zvec.FieldSchema("text", zvec.DataType.STRING),
            zvec.FieldSchema("position", zvec.DataType.INT64),
        ],
        vectors=zvec.VectorSchema("dense", zvec.DataType.VECTOR_FP32, dimensions, index),
    )


def _make_analyzer(settings: ZvecAnalyzerSettings) -> "zvec.FtsIndexParam":
    import zvec

    filters = ["lowercase"]
    if settings.ascii_folding:
        filters.append("ascii_folding")
    if settings.language is None:
        return zvec.FtsIndexParam(settings.tokenizer, filters)
    language = json.dumps({"stemmer_lang": settings.language})
    return zvec.FtsIndexParam(settings.tokenizer, [*filters, "stemmer"], language)
