"""Elasticsearch, a server: BM25 and k-NN lists fused by its retrievers."""

import re
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from assay.retrievers.engines.adapter import Allowed
from assay.retrievers.engines.base import LegWeights
from assay.retrievers.engines.capabilities import Capabilities, Feature
from assay.retrievers.engines.formulas import Formula, Head, ReciprocalRanks, SummedScores
from assay.retrievers.engines.servers.collections import PREFIX
from assay.retrievers.engines.servers.lucene import (
    NOTE,
    SORTED,
    LuceneSettings,
    LuceneStore,
    find_reason,
    list_ids,
    silence,
)
from assay.retrievers.engines.servers.store import TAKEN, Fault, Target
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

# The most num_candidates, and so the most neighbours.
DEEPEST = 10_000
LICENCE = "an Enterprise or trial licence"
RRF = Feature("the retriever rrf", (8, 16), LICENCE)
LINEAR = Feature("the retriever linear with minmax", (8, 18), LICENCE)
# What a server says of the requests of a client whose major version is newer.
MISMATCH = "media_type_header_exception"
EXISTS = "resource_already_exists_exception"
UNLICENSED = re.compile(r"non-compliant for \[(.+?)\]")
EPSILON = np.float32(1e-6)


class ElasticsearchStore(LuceneStore):
    """An index whose note is in its mapping. A score of k-NN is (1 + cosine) / 2."""

    engine = "elasticsearch"
    vendor = "Elasticsearch"
    key = "ELASTICSEARCH_API_KEY"
    needs_key = False
    eventual = True
    settings: "ElasticsearchSettings"
    faults: ClassVar[Mapping[str, Fault]] = {
        "ConnectionTimeout": Fault("late"),
        "SerializationError": Fault("garbled"),
        "UnsupportedProductError": Fault("garbled"),
        "ApiError": Fault("answered"),
        "TransportError": Fault("lost"),
    }

    def connect(self) -> None:
        """Make the client."""
        from elasticsearch import Elasticsearch

        silence("elasticsearch", "elastic_transport")
        options = self.settings.find_certificates()
        if self.secret:
            options["api_key"] = self.secret
        self._client = Elasticsearch(self.url, max_retries=0, retry_on_timeout=False, **options)

    def send(self, method: str, seconds: float, **arguments: Any) -> Any:
        """Return the client's answer."""
        client = self._client.options(request_timeout=seconds)
        return attrgetter(method)(client)(**arguments).body

    def read_version(self) -> str:
        """Return the version of the node that answers."""
        nodes = self.call("nodes.info", node_id="_local", metric="os")["nodes"]
        return str(next(iter(nodes.values()))["version"])

    def describe_vectors(self, dimensions: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a field of cosines in a flat index or a graph, and an index sorted by position."""
        settings = self.settings
        graph = {"type": "hnsw", "m": settings.m, "ef_construction": settings.ef_construction}
        field = {
            "type": "dense_vector",
            "dims": dimensions,
            "index": True,
            "similarity": "cosine",
            "index_options": {"type": "flat"} if settings.exact else graph,
        }
        return field, SORTED

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Make the index."""
        self.create_index(name, texts, dimensions, note)

    def mark(self, name: str, note: str) -> None:
        """Put the note into the mapping."""
        self.call("indices.put_mapping", index=name, meta={NOTE: note})

    def find_notes(self) -> dict[str, str]:
        """Return the notes in the mappings."""
        found = self.call("indices.get_mapping", index=f"{PREFIX}*")
        return {
            name: str((told["mappings"].get("_meta") or {}).get(NOTE, ""))
            for name, told in found.items()
        }

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest texts."""
        limit = min(limit, DEEPEST)
        found = self.search(
            target.name, limit, retriever={"knn": self._near(vector, limit, target.allowed)}
        )
        return [(position, 2 * score - 1) for position, score in found]

    def keyword(self, target: Target, text: str, limit: int) -> list[Scored]:
        """Return the texts that share a term."""
        return self.search(target.name, limit, query=self.match(text, target.allowed))

    def hybrid(self, target: Target, text: str, vector: Vectors) -> list[Scored]:
        """Return all fused texts, at most as many as a list is deep."""
        settings, depth = self.settings, self.settings.depth.dense
        retrievers: list[dict[str, Any]] = [
            {"knn": self._near(vector, depth, target.allowed)},
            {"standard": {"query": self.match(text, target.allowed)}},
        ]
        fusion: dict[str, Any] = {"rank_window_size": depth, "retrievers": retrievers}
        if settings.fusion == "rrf":
            fusion["rank_constant"] = settings.k
        else:
            weights = (settings.weights.dense, settings.weights.keyword)
            fusion["retrievers"] = [
                {"retriever": retriever, "weight": weight, "normalizer": "minmax"}
                for retriever, weight in zip(retrievers, weights, strict=True)
            ]
        return self.search(target.name, depth, retriever={settings.fusion: fusion})

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()

    @classmethod
    def say(cls, error: Any) -> object:
        """Return the server's reason, and the way out where it is known."""
        import elasticsearch

        if not isinstance(error, elasticsearch.ApiError):
            return error.message
        said = find_reason(error.body)
        if found := UNLICENSED.search(said):
            return (
                f"its licence lacks {found[1]}, which needs {LICENCE}; without one fuse here, as "
                "the config hybrid_rrf does"
            )
        if said.startswith(MISMATCH):
            major = elasticsearch.__version__[0]
            return (
                f"it is older than the client, which is of version {major}; install a client of "
                f"the server's, as elasticsearch<{major} is"
            )
        return said

    @classmethod
    def read_status(cls, error: Any) -> int:
        """Return the status; that a licence lacks something is none of the key."""
        said = find_reason(error.body)
        if said.startswith(EXISTS):
            return TAKEN
        return 0 if UNLICENSED.search(said) else int(error.meta.status)

    def _near(self, vector: Vectors, limit: int, allowed: Allowed | None) -> dict[str, Any]:
        settings = self.settings
        return {
            "field": "vector",
            "query_vector": vector.tolist(),
            "k": limit,
            "num_candidates": limit if settings.exact else max(limit, settings.candidates),
            **({} if allowed is None else {"filter": list_ids(allowed)}),
        }


class ElasticsearchSettings(LuceneSettings):
    """Elasticsearch, a server at ELASTICSEARCH_URL: BM25 and k-NN lists fused by a retriever."""

    language_key: ClassVar[str] = "bm25.analyzer"
    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="elasticsearch",
        modules=("elasticsearch",),
        packages=("elasticsearch",),
        address="ELASTICSEARCH_URL",
        features=(RRF, LINEAR),
        met="8.19.21, no fusion",
        restricts=True,
    )
    store: ClassVar[type[ElasticsearchStore]] = ElasticsearchStore
    type: Literal["elasticsearch"] = "elasticsearch"
    fusion: Literal["rrf", "linear"] = Field(
        "rrf",
        description=(
            "the retriever: rrf, reciprocal rank fusion; linear, weighted sum of scores, each "
            "list's lowest scaled to 0 and its highest to 1. Both need a licence of Elastic"
        ),
    )
    k: int = Field(
        60, ge=1, description="rrf's rank_constant; a list adds 1 / (k + rank), ranks from 1"
    )
    weights: LegWeights = Field(default_factory=LegWeights, description="linear only")
    exact: bool = Field(
        True, description="flat index, which compares with every vector; false: an HNSW graph"
    )
    m: int = Field(16, ge=2, le=512, description="HNSW: edges of a node")
    ef_construction: int = Field(
        100, ge=2, le=3200, description="HNSW: candidates when the graph is built"
    )
    candidates: int = Field(
        200,
        ge=1,
        le=DEEPEST,
        description="HNSW: candidates when searching; never fewer than are asked for",
    )

    @model_validator(mode="after")
    def _can_fuse(self) -> "ElasticsearchSettings":
        if self.depth.dense != self.depth.keyword:
            raise ValueError(
                "depth: Elasticsearch cuts both lists at one rank_window_size; make both the same"
            )
        if not 2 <= self.depth.dense <= DEEPEST:
            raise ValueError(f"depth: Elasticsearch takes 2 to {DEEPEST} candidates of a list")
        if self.fusion == "rrf" and self.weights != LegWeights():
            raise ValueError("fusion rrf has no weights here; leave them out, or use linear")
        return self

    @property
    def features(self) -> Sequence[Feature]:
        """The features that these settings need and not every server has."""
        return [RRF if self.fusion == "rrf" else LINEAR]

    def make_formula(self) -> Formula:
        """Return the fusion; no more than a list is deep are returned of it."""
        whole: Formula = ReciprocalRanks(k=self.k, single=True)
        if self.fusion == "linear":
            whole = sum_linear((self.weights.dense, self.weights.keyword))
        return Head(whole, self.depth.dense)

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        return [self.bm25, *([] if self.exact else [self.m, self.ef_construction])]


def sum_linear(weights: tuple[float, float]) -> SummedScores:
    """Return the sum with each list's worst as 0 and best as 1; equal scores stay as they are."""
    says = (
        "sum over both lists of weight × (score - lowest) / (highest - lowest), {weights}; scores "
        "that are all equal stay as they are, dense ones are (1 + cosine) / 2"
    )
    return SummedScores(says, weights, _scale, halved=True, rounded=True)


def _scale(scores: Sequence[float]) -> Sequence[float]:
    """Scale as the server does, in 32 bits."""
    numbers = np.array(scores, np.float32)
    if not scores or numbers.max() - numbers.min() < EPSILON:
        return scores
    scaled: list[float] = ((numbers - numbers.min()) / (numbers.max() - numbers.min())).tolist()
    return scaled
