"""OpenSearch, a server: BM25 and k-NN lists fused by a search pipeline of each query."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.engines.adapter import Allowed
from assay.retrievers.engines.capabilities import Capabilities, Feature, Search
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.servers.collections import PREFIX, name_of_index
from assay.retrievers.engines.servers.lucene import (
    NOTE,
    SORTED,
    LuceneSettings,
    LuceneStore,
    find_reason,
    list_ids,
    silence,
)
from assay.retrievers.engines.servers.store import Fault, Target
from assay.retrievers.engines.stores.opensearch_fusion import FEATURES as FUSIONS
from assay.retrievers.engines.stores.opensearch_fusion import FusionSettings, RankFusion
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Settings
from assay.retrievers.settings.trust import SAFEGUARD

DEEPEST = 10_000
SHARDS_SECONDS = 30
# Of an alias it is where texts go that are put in through it, which none are.
SECONDS = "index_routing"
WORDS = Feature("knn.method none", (1, 0))
FAISS = Feature("knn.engine faiss", (2, 19), "the native libraries of the k-NN plugin")
USER, PASSWORD = "OPENSEARCH_USERNAME", "OPENSEARCH_PASSWORD"
# What a server says that lacks a plugin, by the plugin's name.
PLUGINS = {
    "opensearch-knn": r"\[knn_vector\]|\[index\.knn|\[knn\]|knn_score",
    "opensearch-neural-search": r"\[hybrid\]|processor",
}
_UNKNOWN = re.compile(r"unknown|no handler|not supported|invalid processor|not installed", re.I)


class OpenSearchStore(LuceneStore):
    """An index behind an alias, which stands when the index is whole.

    The note is in the mapping and the seconds are with the alias: to change the mapping, once there
    are texts and vectors, can make the k-NN plugin fail the shard. A score of k-NN is
    (1 + cosine) / 2.
    """

    engine = "opensearch"
    vendor = "OpenSearch"
    key = "OPENSEARCH_API_KEY"
    needs_key = False
    way_out = f"set {USER} and {PASSWORD}, or OPENSEARCH_API_KEY"
    in_flight = 4
    settings: "OpenSearchSettings"
    faults: ClassVar[Mapping[str, Fault]] = {
        "ConnectionTimeout": Fault("late"),
        "ConnectionError": Fault("lost"),
        "TransportError": Fault("answered"),
        "SerializationError": Fault("garbled"),
    }

    def connect(self) -> None:
        """Make the client. Raises AssayError if half of the credentials is set."""
        from opensearchpy import OpenSearch

        silence("opensearch")
        settings = self.settings
        options: dict[str, Any] = settings.find_certificates()
        user, password = os.environ.get(USER), os.environ.get(PASSWORD)
        if self.secret:
            options["headers"] = {"Authorization": f"ApiKey {self.secret}"}
        elif bool(user) != bool(password):
            missing = PASSWORD if user else USER
            raise AssayError(f"engine opensearch: {missing} is not set, the other of the two is")
        elif password:
            self.secret = password
            options["http_auth"] = (user, password)
        self._client = OpenSearch(
            hosts=[self.url],
            timeout=settings.timeout_seconds,
            max_retries=0,
            verify_certs=settings.verify_certs,
            ssl_show_warn=False,
            **options,
        )

    def send(self, method: str, seconds: float, **arguments: Any) -> Any:
        """Return the client's answer."""
        return attrgetter(method)(self._client)(request_timeout=seconds, **arguments)

    def read_version(self) -> str:
        """Return the server's version. Raises AssayError if it is none, or would end."""
        told = self.call("info")["version"]
        if told.get("distribution") != "opensearch":
            raise self.refuse(
                f"is no OpenSearch; it tells the version {told['number']} of "
                f"{told.get('distribution') or 'another server'}"
            )
        if FAISS in self.settings.features and told.get("build_type") == "zip":
            # The zip has no libraries but for Windows.
            nodes = self.call("nodes.info", node_id="_local", metric="os")["nodes"].values()
            if all(node["os"]["name"] == "Linux" for node in nodes):
                raise self.refuse(
                    f"{FAISS.what} needs {FAISS.beside}, which the plain zip that this server is "
                    "lacks: it would end; take knn.engine: lucene"
                )
        return str(told["number"])

    def describe_vectors(self, dimensions: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a field for k-NN; only an index without a graph can be sorted."""
        knn = self.settings.knn
        field: dict[str, Any] = {"type": "knn_vector", "dimension": dimensions}
        if knn.method != "hnsw":
            return (field if knn.method == "exact" else {}), SORTED
        graph = {"m": knn.m, "ef_construction": knn.ef_construction}
        field["method"] = {
            "name": "hnsw",
            "engine": knn.engine,
            "space_type": "cosinesimil",
            "parameters": graph,
        }
        return field, {"knn": True}

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Make the index, and wait until its shard can be asked."""
        self.create_index(name, texts, dimensions, json.loads(note))
        health = self.call(
            "cluster.health",
            SHARDS_SECONDS + self.settings.timeout_seconds,
            index=name,
            wait_for_status="yellow",
            timeout=f"{SHARDS_SECONDS}s",
            ignore=[408],  # which comes with the same answer
        )
        if health["timed_out"]:
            raise self.refuse(
                f"the index {name} has shards that cannot be asked after {SHARDS_SECONDS} s; the "
                "server's log says why"
            )

    def mark(self, name: str, note: str) -> None:
        """Point the alias at the index."""
        seconds = str(json.loads(note)["seconds"])
        add = {"index": name, "alias": name_of_index(name), SECONDS: seconds}
        self.call("indices.update_aliases", body={"actions": [{"add": add}]})

    def find_notes(self) -> dict[str, str]:
        """Return the notes in the mappings, complete where an alias stands."""
        noted = self.call("indices.get_mapping", index=f"{PREFIX}*")
        aliases = self.call("indices.get_alias", index=f"{PREFIX}*") if noted else {}
        notes = {}
        for name, told in noted.items():
            note = (told["mappings"].get("_meta") or {}).get(NOTE)
            standing = aliases.get(name, {}).get("aliases", {}).values()
            if isinstance(note, dict):
                seconds = next((each.get(SECONDS, "0") for each in standing), "0")
                whole = {"complete": bool(standing), "seconds": _read_number(seconds)}
                notes[name] = json.dumps({**note, **whole})
        return notes

    def find_sizes(self) -> dict[str, int]:
        """Return the sizes of the primary shards."""
        size = "indices.*.primaries.store.size_in_bytes"
        told = self.call("indices.stats", index=f"{PREFIX}*", metric="store", filter_path=size)
        return {
            name: int(each["primaries"]["store"]["size_in_bytes"])
            for name, each in told.get("indices", {}).items()
        }

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest texts; a graph finds more of them the more are requested."""
        reach = min(max(limit, self.settings.depth.dense), DEEPEST)
        query = self._nearest(vector, reach, target.allowed)
        found = self.search(target.name, limit, track_total_hits=False, query=query)
        return [(position, 2 * score - 1) for position, score in found]

    def keyword(self, target: Target, text: str, limit: int) -> list[Scored]:
        """Return the texts that share a term."""
        query = self.match(text, target.allowed)
        return self.search(target.name, limit, track_total_hits=False, query=query)

    def hybrid(self, target: Target, text: str, vector: Vectors) -> list[Scored]:
        """Return all fused texts: how the server breaks ties is not documented."""
        depth = self.settings.depth
        queries = [
            self._nearest(vector, depth.dense, target.allowed),
            self.match(text, target.allowed),
        ]
        processor = self.settings.fusion.make_processor()
        fused = self.search(
            target.name,
            depth.dense + depth.keyword,
            query={"hybrid": {"queries": queries, "pagination_depth": depth.keyword}},
            search_pipeline={"phase_results_processors": [processor]},
        )
        if any(score < 0 for _, score in fused):
            raise self.refuse("the search pipeline was not run")
        return [(position, score) for position, score in fused if score > 0]

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()

    @classmethod
    def say(cls, error: Any) -> object:
        """Return the server's reason, or what the client says of a connection."""
        from opensearchpy import exceptions

        if isinstance(error, exceptions.SSLError):
            return (
                f"TLS failed: {error.info}; name its authority in ca_certs, or set verify_certs: "
                "false"
            )
        if isinstance(error, exceptions.ConnectionError):
            return getattr(error.info.__cause__, "strerror", None) or error.info
        if not isinstance(error, exceptions.TransportError):
            return error
        reason = find_reason(error.info) if isinstance(error.info, dict) else str(error.error)
        for plugin, hint in PLUGINS.items():
            if error.status_code == 400 and _UNKNOWN.search(reason) and re.search(hint, reason):
                return f"seems to lack the plugin {plugin}: {reason}"
        return reason

    def _nearest(self, vector: Vectors, limit: int, allowed: Allowed | None) -> dict[str, Any]:
        """Return the query for the `limit` nearest texts; exact search orders all by nearness."""
        knn = self.settings.knn
        among = None if allowed is None else list_ids(allowed)
        if knn.method == "hnsw":
            query: dict[str, Any] = {"vector": vector.tolist(), "k": limit}
            if among:
                query["filter"] = among
            if knn.ef_search is not None:
                query["method_parameters"] = {"ef_search": knn.ef_search}
            return {"knn": {"vector": query}}
        params = {"field": "vector", "query_value": vector.tolist(), "space_type": "cosinesimil"}
        script = {"source": "knn_score", "lang": "knn", "params": params}
        return {"script_score": {"query": among or {"match_all": {}}, "script": script}}


class KnnSettings(Settings):
    """OpenSearch's way to compare vectors."""

    method: Literal["exact", "hnsw", "none"] = Field(
        "exact",
        description=(
            "exact: the k-NN plugin's script compares with every vector; hnsw; none: no vectors "
            "and no plugin, the keyword list alone"
        ),
    )
    engine: Literal["lucene", "faiss"] = Field(
        "lucene", description="hnsw: the library that builds and searches the graph"
    )
    m: int = Field(16, ge=2, le=100, description="hnsw: edges of a node")
    ef_construction: int = Field(100, ge=2, description="hnsw: candidates when the graph is built")
    ef_search: int | None = Field(
        None, ge=1, description="hnsw of faiss: candidates when searching; else 100, the server's"
    )

    @model_validator(mode="after")
    def _can_search(self) -> "KnnSettings":
        if self.ef_search is not None and (self.method, self.engine) != ("hnsw", "faiss"):
            raise ValueError("ef_search: hnsw of faiss only; lucene takes the depth for it")
        return self


class OpenSearchSettings(LuceneSettings):
    """OpenSearch, a server: BM25 and k-NN lists fused by a search pipeline."""

    language_key: ClassVar[str] = "bm25.analyzer"
    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="opensearch",
        modules=("opensearchpy",),
        packages=("opensearch-py",),
        address="OPENSEARCH_URL",
        features=(WORDS, *FUSIONS, FAISS),
        met="2.19.1, 3.6.0",
        restricts=True,
    )
    store: ClassVar[type[OpenSearchStore]] = OpenSearchStore
    type: Literal["opensearch"] = "opensearch"
    verify_certs: Annotated[bool, SAFEGUARD] = Field(
        True, description="refuse a certificate that cannot be verified"
    )
    knn: KnnSettings = Field(default_factory=KnnSettings, description="the dense list")
    fusion: FusionSettings = Field(
        default_factory=RankFusion, description="how the search pipeline fuses"
    )

    @model_validator(mode="after")
    def _has_depth(self) -> "OpenSearchSettings":
        depth = self.depth
        if max(depth.dense, depth.keyword) > DEEPEST:
            raise ValueError(f"depth: OpenSearch allows {DEEPEST} candidates of a list at most")
        # pagination_depth cuts both lists; only the k of a graph search can be less than it.
        if self.knn.method == "exact" and depth.dense != depth.keyword:
            raise ValueError("depth: OpenSearch cuts both lists at one depth; make both the same")
        if depth.dense > depth.keyword:
            raise ValueError("depth: OpenSearch cuts no list deeper than the keyword list")
        return self

    @property
    def searches(self) -> tuple[Search, ...]:
        """The searches that the engine offers with these settings."""
        return ("keyword",) if self.knn.method == "none" else super().searches

    @property
    def features(self) -> Sequence[Feature]:
        """The features that these settings need and not every server has."""
        if self.knn.method == "none":
            return [WORDS]
        faiss = (self.knn.method, self.knn.engine) == ("hnsw", "faiss")
        return [self.fusion.feature, *([FAISS] if faiss else [])]

    def make_formula(self) -> Formula:
        """Return the fusion of the search pipeline."""
        return self.fusion.make_formula()

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        knn = self.knn
        graph = [knn.engine, knn.m, knn.ef_construction] if knn.method == "hnsw" else []
        return [self.bm25, knn.method, *graph]

    def is_exact(self, texts: int) -> bool:
        """Return True if dense search compares with every vector."""
        return self.knn.method != "hnsw"


def _read_number(told: str) -> float:
    with suppress(ValueError):
        return float(told)
    return 0.0
