"""OpenSearch as a keyword leg alone: BM25 on a server, fused here with any dense leg."""

import time
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from assay.retrievers.base import IndexReport, Progress
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.engines.lucene import SORTED, LuceneBm25Settings, make_body, match
from assay.retrievers.engines.opensearch.client import OpenSearchClient, OpenSearchConnection
from assay.retrievers.engines.opensearch.features import LEG
from assay.retrievers.engines.opensearch.index import INDEX_NAME, OpenSearchIndexStore
from assay.retrievers.engines.opensearch.queries import search
from assay.retrievers.engines.opensearch.server import OpenSearchServer
from assay.retrievers.engines.opensearch.versions import check_version
from assay.retrievers.engines.servers.collection_store import CollectionPlan
from assay.retrievers.engines.servers.servers import name_index
from assay.retrievers.fusion.ranking import ordered
from assay.retrievers.legs.base import Kind, Leg, LegResult, LegSettings
from assay.retrievers.services.retries import count_retries
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest
from assay.retrievers.store.sources import digest_imports


class OpenSearchLegSettings(OpenSearchConnection, LegSettings):
    """BM25 on an OpenSearch server, without vectors there."""

    kind: ClassVar[Kind] = "keyword"
    asks_server: ClassVar[bool] = True
    type: Literal["opensearch"] = "opensearch"
    index_name: str | None = Field(
        None,
        pattern=INDEX_NAME,
        description="alias of the index; else assay_ and 16 digits that stand for its content",
    )
    bm25: LuceneBm25Settings = Field(
        default_factory=LuceneBm25Settings, description="analyzer and constants"
    )

    def build(self, resources: Resources) -> "OpenSearchLeg":
        """Return the leg, which has indexed nothing yet."""
        return OpenSearchLeg(self, resources.progress)

    def server(self) -> OpenSearchServer:
        """Return the server, for its list of indexes."""
        return OpenSearchServer(OpenSearchClient(self))


class OpenSearchLeg(Leg):
    """Texts in an index of one shard, behind an alias that stands when it is whole."""

    def __init__(self, settings: OpenSearchLegSettings, progress: Progress) -> None:
        self._settings = settings
        self._progress = progress
        self._client: OpenSearchClient | None = None
        self._plan: CollectionPlan | None = None
        self._version = ""

    def index(self, corpus: Corpus) -> IndexReport:
        """Find the index on the server, or make it there."""
        self.close()
        texts = corpus.texts
        if not texts:
            return IndexReport(0)
        settings = self._settings
        key = digest(digest_imports(__name__), settings.bm25, corpus.digest)
        body = make_body(settings.bm25, len(texts), settings=SORTED)
        name = settings.index_name or name_index(key)
        plan = CollectionPlan(name, key, "", len(texts), 0)
        client = OpenSearchClient(settings)
        try:
            self._version = check_version(client, [LEG])
            documents = ({"position": i, "text": text} for i, text in enumerate(texts))
            opened = OpenSearchIndexStore(client, plan, body, documents, self._progress).open()
        except BaseException:
            client.close()
            raise
        self._client, self._plan = client, plan
        return IndexReport(
            chunks=len(texts),
            seconds={"keyword": opened.seconds},
            bytes=opened.bytes,
            cached=("keyword",) if opened.cached else (),
        )

    def search(self, query: str, depth: int) -> LegResult:
        """Return the chunks that share terms with the query."""
        if self._client is None or self._plan is None or not query.strip():
            return LegResult([], {"search": 0.0})
        body = {"track_total_hits": False, "query": match(query)}
        begin = time.perf_counter()
        with count_retries() as cost:
            size = min(depth, self._plan.texts)
            candidates = ordered(search(self._client, self._plan.name, size, body))
        end = time.perf_counter()
        return LegResult(
            candidates,
            {"search": (end - begin) * 1e3 - cost.milliseconds},
            counts={"retries": cost.retries} if cost.retries else {},
            waited=cost.milliseconds,
        )

    def facts(self) -> Mapping[str, Any]:
        """The server's version and the name of the index there."""
        name = self._plan.name if self._plan else ""
        return {"engine": "opensearch", "version": self._version, "index": name}

    def close(self) -> None:
        """Close the connections; the index stays on the server."""
        if self._client is not None:
            self._client.close()
        self._client, self._plan = None, None
