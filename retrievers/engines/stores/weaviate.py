"""Weaviate, a server: vector and BM25 lists fused by its hybrid search."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal
from uuid import UUID

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Capabilities, Feature
from assay.retrievers.engines.formulas import Formula, Head, ReciprocalRanks, sum_scaled
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.servers.store import TAKEN, Fault, Row, Store, Target
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.services.addresses import read_port, shorten
from assay.retrievers.services.retries import DENIED_RPC
from assay.retrievers.settings import Settings

FILTERS = Feature("filters by identifiers", (1, 33))
GRPC_PORT, DEFAULT_GRPC_PORT = "WEAVIATE_GRPC_PORT", 50051
# A server that comes back is found soon, not after the two minutes that a channel may wait.
CHANNEL = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 2000)]
PROPERTY = "text"
# Of a random kind by its version, so that it is never taken for none; the last digits count.
FIRST_ID = UUID("00000000-0000-8000-8000-000000000000").int
LEAST_DEPTH = 100
DEEPEST = 10_000  # QUERY_MAXIMUM_RESULTS, unless it was changed
RANK_CONSTANT = 60
EXISTS = "already exists"


class RpcError(Exception):
    """A gRPC call that failed: the name of its status, and what the server says of it."""

    def __init__(self, status: str, details: str) -> None:
        super().__init__(f"{status}: {details}")
        self.code = status
        self.details = details


class WeaviateStore(Store):
    """A collection of one object per text, whose identifier encodes its position.

    The server is asked over REST for collections and gRPC for what is in them. A note is a
    collection's description. Each list has as many candidates as the request's limit, and no fewer
    than the server's QUERY_HYBRID_MAXIMUM_RESULTS, which is 100 unless it was changed. The limit is
    therefore always the depth, and as many fused texts are returned at most.
    """

    engine = "weaviate"
    vendor = "Weaviate"
    key = "WEAVIATE_API_KEY"
    needs_key = False
    rows_per_request = 200
    in_flight = 4
    deepest = DEEPEST
    most_listed = 20_000
    settings: "WeaviateSettings"
    faults: ClassVar[Mapping[str, Fault]] = {
        "DEADLINE_EXCEEDED": Fault("late"),
        "UNAVAILABLE": Fault("lost"),
        "RESOURCE_EXHAUSTED": Fault("answered", status=429),
        **dict.fromkeys(DENIED_RPC, Fault("answered", status=401)),
        "RpcError": Fault("answered"),
        "UnexpectedStatusCodeError": Fault("answered"),
        "HTTPStatusError": Fault("answered"),
        "TimeoutException": Fault("late"),
        "TransportError": Fault("lost"),
        "ResponseCannotBeDecodedError": Fault("garbled"),
    }

    def connect(self) -> None:
        """Make the client, and connect it. Raises AssayError."""
        from weaviate import WeaviateClient
        from weaviate.classes.init import AdditionalConfig, Auth, Timeout
        from weaviate.config import GrpcConfig

        # Without a handler the client's messages of each failed batch would go to the terminal.
        logging.getLogger("weaviate-client").addHandler(logging.NullHandler())
        self.grpc_port = read_port(self.engine, GRPC_PORT, DEFAULT_GRPC_PORT)
        try:
            params = _make_params().from_url(self.url, self.grpc_port)
        except ValueError as error:
            variable = self.settings.capabilities.address
            raise AssayError(
                f"engine weaviate: {variable} and {GRPC_PORT}: {shorten(error)}"
            ) from None
        seconds = self.settings.timeout_seconds
        self._client = WeaviateClient(
            connection_params=params,
            auth_client_secret=Auth.api_key(self.secret) if self.secret else None,
            additional_config=AdditionalConfig(
                timeout=Timeout(init=seconds, query=seconds, insert=seconds),
                grpc_config=GrpcConfig(channel_options=CHANNEL),
            ),
            skip_init_checks=True,
        )

    def read_version(self) -> str:
        """Connect, and return the server's version."""
        self._client.connect()
        return str(self._client.get_meta()["version"])

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Make the collection, of one shard: the statistics of terms are those of all of it."""
        from weaviate.classes import config

        settings, make = self.settings, config.Configure
        # The server may compress vectors by default.
        options: dict[str, Any] = {
            "distance_metric": config.VectorDistances.COSINE,
            "quantizer": make.VectorIndex.Quantizer.none(),
        }
        if settings.exact:
            index: Any = make.VectorIndex.flat(**options)
        else:
            index = make.VectorIndex.hnsw(
                max_connections=settings.max_connections,
                ef_construction=settings.ef_construction,
                ef=settings.ef or -1,
                **options,
            )
        bm25 = settings.bm25
        text = config.Property(
            name=PROPERTY,
            data_type=config.DataType.TEXT,
            tokenization=config.Tokenization(bm25.tokenization),
            index_filterable=False,
            index_searchable=True,
        )
        self.make(
            lambda: self._client.collections.create(
                name,
                description=note,
                properties=[text],
                inverted_index_config=make.inverted_index(
                    bm25_k1=bm25.k1,
                    bm25_b=bm25.b,
                    stopwords_preset=config.StopwordsPreset(bm25.stop_words),
                ),
                vector_config=make.Vectors.self_provided(vector_index_config=index),
                sharding_config=make.sharding(desired_count=1),
            )
        )

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put objects. Raises AssayError if some were not stored."""
        from weaviate.classes.data import DataObject
        from weaviate.exceptions import WeaviateInsertManyAllFailedError

        objects = [
            DataObject(properties={PROPERTY: row.text}, uuid=to_id(row.position), vector=row.vector)
            for row in rows
        ]
        try:
            result = self._client.collections.use(name).data.insert_many(objects)
            errors = [error.message for error in result.errors.values()]
        except WeaviateInsertManyAllFailedError as error:
            errors = [str(error)] * len(objects)
        if errors:
            raise self.refuse(
                f"{len(errors)} texts were not stored, the first for: {shorten(errors[0])}"
            )

    def is_ready(self, name: str) -> bool:
        """Return True if no vector waits to be indexed."""
        nodes = self._client.cluster.nodes(collection=name, output="verbose")
        shards = [shard for node in nodes for shard in node.shards]
        return not any(
            shard.vector_queue_length or shard.vector_indexing_status == "INDEXING"
            for shard in shards
        )

    def count(self, name: str) -> int:
        """Return how many texts can be found."""
        collection = self._client.collections.use(name)
        return int(collection.aggregate.over_all(total_count=True).total_count or 0)

    def mark(self, name: str, note: str) -> None:
        """Put the note into the description."""
        self._client.collections.use(name).config.update(description=note)

    def find_notes(self) -> dict[str, str]:
        """Return the descriptions of all collections by their names.

        The client's own list is of no use here: it fails where a collection of somebody else's has
        an index of a kind that it does not know.
        """
        import httpx

        headers = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        seconds = self.settings.timeout_seconds
        answer = httpx.get(
            f"{self.url}/v1/schema", headers=headers, timeout=seconds, trust_env=False
        )
        classes = answer.raise_for_status().json()["classes"]
        return {each["class"]: each.get("description") or "" for each in classes}

    def remove(self, name: str) -> None:
        """Remove the collection."""
        self._client.collections.delete(name)

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest texts; the cosine is 1 - Weaviate's distance."""
        found = self._search(
            target, "near_vector", "distance", near_vector=vector.tolist(), limit=limit
        )
        return [(position, 1.0 - far) for position, far in found]

    def keyword(self, target: Target, text: str, limit: int) -> list[Scored]:
        """Return the texts that share a term."""
        from weaviate.classes.query import BM25Operator

        return self._search(
            target,
            "bm25",
            query=text,
            query_properties=[PROPERTY],
            operator=BM25Operator.or_(minimum_match=1),
            limit=limit,
        )

    def hybrid(self, target: Target, text: str, vector: Vectors) -> list[Scored]:
        """Return all fused texts, at most as many as a list is deep."""
        from weaviate.classes.query import BM25Operator, HybridFusion

        settings = self.settings
        ranked = settings.fusion == "ranked"
        return self._search(
            target,
            "hybrid",
            query=text,
            vector=vector.tolist(),
            alpha=settings.alpha,
            fusion_type=HybridFusion.RANKED if ranked else HybridFusion.RELATIVE_SCORE,
            query_properties=[PROPERTY],
            bm25_operator=BM25Operator.or_(minimum_match=1),
            limit=settings.depth.dense,
        )

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()

    def can_restrict(self) -> bool:
        """Return True if the server can leave out texts by their identifiers."""
        return not FILTERS.find_lack(self.version)

    def spell(self, name: str) -> str:
        """Return the name with the capital letter with which Weaviate's begin."""
        return name.capitalize()

    @classmethod
    def find_fault(cls, error: Exception) -> Fault | None:
        """Return the fault of an error, or of what led to it: the client wraps what it catches."""
        from weaviate.exceptions import WeaviateBaseError

        cause: BaseException | None = error
        while isinstance(cause, Exception):
            if fault := super().find_fault(cause):
                return fault
            cause = cause.__cause__ or cause.__context__
        return Fault("answered", error) if isinstance(error, WeaviateBaseError) else None

    @classmethod
    def say(cls, error: Any) -> object:
        """Return the message of the server, or of the client on a connection."""
        if isinstance(error, RpcError):
            return f"{error.code}: {error.details} (gRPC, whose port {GRPC_PORT} names)"
        return getattr(error, "error", error)

    @classmethod
    def read_status(cls, error: Any) -> int:
        """Return the status of HTTP; of a collection that exists it says so in words."""
        if EXISTS in str(error):
            return TAKEN
        return int(getattr(getattr(error, "response", error), "status_code", 0))

    def _search(
        self, target: Target, method: str, score: str = "score", **query: Any
    ) -> list[Scored]:
        """Return position and score of what one of the client's queries finds."""
        from weaviate.classes.query import Filter, MetadataQuery

        asked = self._client.collections.use(target.name).query
        if target.allowed is not None:
            listed, by_id = target.allowed.fewer, Filter.by_id()
            ids = list(map(to_id, listed.positions))
            query["filters"] = (
                by_id.contains_none(ids) if listed.others else by_id.contains_any(ids)
            )
        found = getattr(asked, method)(
            return_metadata=MetadataQuery(**{score: True}), return_properties=False, **query
        )
        return [(to_position(one.uuid), getattr(one.metadata, score)) for one in found.objects]


class WeaviateBm25Settings(Settings):
    """Weaviate's BM25, with idf = ln(1 + (N - df + 0.5) / (df + 0.5)); it does not stem."""

    k1: float = Field(1.2, ge=0, description="how fast repetitions of a term saturate")
    b: float = Field(
        0.75, ge=0, le=1, description="how much long chunks are discounted, against their mean"
    )
    tokenization: Literal[
        "word", "lowercase", "whitespace", "trigram", "gse", "gse_ch", "kagome_ja", "kagome_kr"
    ] = Field(
        "word",
        description=(
            "word splits at all but letters and digits; lowercase at white space; whitespace does "
            "too and keeps capitals; trigram; gse (Chinese, Japanese), gse_ch, kagome_ja and "
            "kagome_kr must be switched on at the server"
        ),
    )
    stop_words: Literal["en", "none"] = Field(
        "en", description="left out of queries, for tokenization word; texts keep them"
    )


class WeaviateSettings(ServerSettings):
    """Weaviate, a server at WEAVIATE_URL: vector and BM25 lists fused inside it."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        "engine",
        approximate=("hnsw",),
        extra="weaviate",
        modules=("weaviate",),
        packages=("weaviate-client",),
        address="WEAVIATE_URL",
        met="1.39.0, 1.40.0-dev",
        restricts=True,
        # Texts of equal score enter fusion in the order in which they were stored, many at a time.
        reproducible="never",
    )
    store: ClassVar[type[WeaviateStore]] = WeaviateStore
    type: Literal["weaviate"] = "weaviate"
    bm25: WeaviateBm25Settings = Field(
        default_factory=WeaviateBm25Settings, description="the engine's keyword index"
    )
    exact: bool = Field(
        True, description="flat index, which compares with every vector; false: an HNSW graph"
    )
    max_connections: int = Field(32, ge=4, le=2047, description="HNSW: edges of a node")
    ef_construction: int = Field(128, ge=4, description="HNSW: candidates when the graph is built")
    ef: int | None = Field(
        None,
        ge=1,
        description="HNSW: candidates when searching; the engine's is 8 a result, 100 to 500",
    )
    fusion: Literal["ranked", "relative_score"] = Field(
        "ranked",
        description=(
            "ranked: sum of weight / (60 + rank), ranks from 0, which is k = 59 from 1; "
            "relative_score, Weaviate's own default: weighted sum of scores, each list's lowest "
            "scaled to 0 and its highest to 1"
        ),
    )
    alpha: float = Field(
        0.5,
        ge=0,
        le=1,
        description="weight of the dense list, 1 - alpha that of BM25's; Weaviate's own is 0.7",
    )

    @model_validator(mode="after")
    def _can_reach(self) -> "WeaviateSettings":
        if self.depth.dense != self.depth.keyword:
            raise ValueError("depth: Weaviate cuts both lists at one depth; make both the same")
        if not LEAST_DEPTH <= self.depth.dense <= DEEPEST:
            raise ValueError(
                f"depth: Weaviate takes {LEAST_DEPTH} candidates of a list at least, {DEEPEST} at "
                "most"
            )
        return self

    def make_formula(self) -> Formula:
        """Return the fusion as Weaviate's source has it (usecases/traverser/hybrid)."""
        weights = (self.alpha, 1 - self.alpha)
        whole: Formula = sum_scaled(weights)
        if self.fusion == "ranked":
            whole = ReciprocalRanks(k=RANK_CONSTANT, first=0, weights=weights, single=True)
        return Head(whole, self.depth.dense)

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends."""
        graph = [self.max_connections, self.ef_construction, self.ef]
        return [self.bm25, *([] if self.exact else graph)]


def to_id(position: int) -> UUID:
    """Return the identifier of the object with the text at a position."""
    return UUID(int=FIRST_ID + position)


def to_position(identifier: UUID) -> int:
    """Return the position of the text whose object has this identifier."""
    return identifier.int - FIRST_ID


def _make_params() -> Any:
    """Return the class of connection parameters whose gRPC channel raises errors at once.

    The client itself retries a call that finds the server unavailable up to six times, with pauses
    of a minute in all, which would count as the server's latency. The client does not catch the
    error that is raised here.
    """
    import grpc
    from weaviate.connect import ConnectionParams

    class Raising(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
        def intercept_unary_unary(
            self, continuation: Callable[[Any, Any], Any], details: Any, request: Any
        ) -> Any:
            answer = continuation(details, request)
            if (status := answer.code()) is not grpc.StatusCode.OK:
                raise RpcError(status.name, str(answer.details()))
            return answer

    class RaisingParams(ConnectionParams):  # type: ignore[misc]
        def _grpc_channel(self, *args: Any, **kwargs: Any) -> Any:
            return grpc.intercept_channel(super()._grpc_channel(*args, **kwargs), Raising())

    return RaisingParams
