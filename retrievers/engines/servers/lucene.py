"""Servers on Lucene: BM25, the creation and filling of an index, queries, error reasons."""

import json
import logging
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.engines.adapter import Allowed
from assay.retrievers.engines.servers.collections import INDEXING_SECONDS
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.servers.store import IncompleteError, Row, Store
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.services.addresses import shorten
from assay.retrievers.settings import Settings
from assay.retrievers.settings.trust import PLACE
from assay.retrievers.store.paths import parse_path

Analyzer = Literal[
    "standard", "simple", "whitespace", "stop", "arabic", "armenian", "basque", "bengali",
    "brazilian", "bulgarian", "catalan", "cjk", "czech", "danish", "dutch", "english", "estonian",
    "finnish", "french", "galician", "german", "greek", "hindi", "hungarian", "indonesian",
    "irish", "italian", "latvian", "lithuanian", "norwegian", "persian", "portuguese", "romanian",
    "russian", "sorani", "spanish", "swedish", "thai", "turkish",
]  # fmt: skip

# A hybrid query asks for all that it fused, and each list may have 10,000.
LEAST_WINDOW = 20_000
# Equal scores come in the order of documents in the index; with this it is that of positions.
SORTED = {"sort.field": "position", "sort.order": "asc"}
NOTE = "assay"
FULL = 429


class LuceneBm25Settings(Settings):
    """Lucene's BM25, with idf = ln(1 + (N - df + 0.5) / (df + 0.5))."""

    analyzer: Analyzer = Field(
        "english",
        description=(
            "how texts become terms: a language with its stop words and stemming, or standard, "
            "simple, whitespace, stop, which do not stem"
        ),
    )
    k1: float = Field(1.2, ge=0, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )


class LuceneSettings(ServerSettings):
    """Base of the settings of servers on Lucene."""

    ca_certs: Annotated[str | None, PLACE] = Field(
        None, description="file with the certificates of the authorities to trust"
    )
    bm25: LuceneBm25Settings = Field(
        default_factory=LuceneBm25Settings, description="the engine's keyword index"
    )

    def find_certificates(self) -> dict[str, Any]:
        """Return the option of a client that names `ca_certs`. Raises AssayError."""
        if not self.ca_certs:
            return {}
        where = f"engine {self.store.engine}: ca_certs"
        path = parse_path(self.ca_certs, where)
        if not path.is_file():
            raise AssayError(f"{where}: {path}: no such file")
        return {"ca_certs": str(path)}


class LuceneStore(Store):
    """An index of one document per text, its position as id, merged into one segment."""

    settings: LuceneSettings

    @abstractmethod
    def send(self, method: str, seconds: float, **arguments: Any) -> Any:
        """Return the result of the client's `method`, with a time limit of `seconds`."""

    @abstractmethod
    def describe_vectors(self, dimensions: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the field of the vectors, empty if there is none, and settings of the index."""

    def call(self, method: str, seconds: float = 0.0, **arguments: Any) -> dict[str, Any]:
        """Return a server's whole answer. Raises IncompleteError for that of some shards only."""
        answer = self.send(method, seconds or self.settings.timeout_seconds, **arguments)
        if not isinstance(answer, dict):
            raise TypeError(answer)
        shards = answer.get("_shards")
        told = shards if isinstance(shards, dict) else {}
        if told.get("successful", 0) < told.get("total", 0):
            raise IncompleteError(f"answered for {told['successful']} of {told['total']} shards")
        return answer

    def create_index(self, name: str, texts: int, dimensions: int, note: Any) -> None:
        """Make an index that has a note in its mapping.

        One shard, so that ranks and the statistics of terms are those of the whole collection.
        """
        bm25 = self.settings.bm25
        vector, own = self.describe_vectors(dimensions)
        settings = {
            "number_of_shards": 1,
            "number_of_replicas": 0,
            "refresh_interval": "-1",
            "max_result_window": max(LEAST_WINDOW, texts),
            "similarity": {"default": {"type": "BM25", "k1": bm25.k1, "b": bm25.b}},
            **own,
        }
        fields = {
            "position": {"type": "integer"},
            "text": {"type": "text", "analyzer": bm25.analyzer},
            **({"vector": vector} if vector else {}),
        }
        mappings = {"dynamic": "strict", "properties": fields, "_meta": {NOTE: note}}
        body = {"settings": {"index": settings}, "mappings": mappings}
        self.make(lambda: self.call("indices.create", index=name, body=body))

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put documents, in one request."""
        lines = []
        with_vectors = bool(self.describe_vectors(1)[0])
        for row in rows:
            vector = {"vector": row.vector} if with_vectors else {}
            lines.append(json.dumps({"index": {"_id": str(row.position)}}))
            lines.append(json.dumps({"position": row.position, "text": row.text, **vector}))
        self._check_items(self.call("bulk", index=name, body=lines))

    def finish(self, name: str) -> None:
        """Merge the documents, and have them be found."""
        self.call("indices.refresh", index=name)
        self.call("indices.forcemerge", INDEXING_SECONDS, index=name, max_num_segments=1)
        self.call("indices.refresh", index=name)

    def count(self, name: str) -> int:
        """Return how many texts can be found."""
        return int(self.call("count", index=name)["count"])

    def remove(self, name: str) -> None:
        """Remove the index."""
        self.call("indices.delete", index=name)

    def match(self, text: str, allowed: Allowed | None) -> dict[str, Any]:
        """Return the query for texts that share a term with `text`; nothing in it is an operator.

        With `allowed` of these alone.
        """
        query = {"match": {"text": {"query": text, "operator": "or"}}}
        if allowed is None:
            return query
        return {"bool": {"must": [query], "filter": [list_ids(allowed)]}}

    def search(self, name: str, size: int, **body: Any) -> list[Scored]:
        """Return (position, score) as the server lists them; a part of an answer is none."""
        full = {"size": size, "_source": False, **body}
        answer = self.call("search", index=name, body=full, allow_partial_search_results=False)
        if answer["timed_out"]:
            raise IncompleteError("the search ran out of time on the server")
        return [(int(hit["_id"]), float(hit["_score"])) for hit in answer["hits"]["hits"]]

    def _check_items(self, answer: Mapping[str, Any]) -> None:
        """Raise where a document was not indexed; those turned down are sent again."""
        if not answer["errors"]:
            return
        results = [result for item in answer["items"] for result in item.values()]
        failed = [result for result in results if "error" in result]
        first = failed[0]
        reason = f"{first['error'].get('type')}: {first['error'].get('reason')}"
        message = (
            f"{len(failed)} texts are not stored, the first, {first.get('_id')}, for: {reason}"
        )
        if all(result.get("status") == FULL for result in failed):
            raise IncompleteError(message)
        raise self.refuse(shorten(message))


def list_ids(allowed: Allowed) -> dict[str, Any]:
    """Return the query for the texts at these positions."""
    return {"ids": {"values": list(map(str, allowed.tolist()))}}


def find_reason(body: Any) -> str:
    """Return the server's reason: the innermost is the plainest."""
    cause = body.get("error") if isinstance(body, dict) else body
    if not isinstance(cause, dict):
        return shorten(cause)
    roots = cause.get("root_cause")
    root = roots[0] if isinstance(roots, list) and roots else cause
    return shorten(f"{root.get('type')}: {root.get('reason')}")


def silence(*loggers: str) -> None:
    """Keep a client's warnings of each failed call from the terminal."""
    for logger in loggers:
        logging.getLogger(logger).addHandler(logging.NullHandler())
