"""Azure Cosmos DB for NoSQL, a service: vector and BM25 lists fused by its client library."""

import base64
import binascii
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.engines.base import EngineLists, LegWeights
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.formulas import Formula, Head, state_weights
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.servers.store import (
    GONE,
    LATER,
    Fault,
    IncompleteError,
    Row,
    Store,
    Target,
    find_words,
)
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    from azure.cosmos import ContainerProxy

DATABASE, NOTES, PARTITION = "assay", "notes", "texts"
WAIT = "x-ms-retry-after-ms"
CONTINUATION = "x-ms-continuation"
PROGRESS = "x-ms-documentdb-collection-index-transformation-progress"
# A container that is still being made.
UNMADE = 1013
LATE, BUSY, FORBIDDEN = 408, 449, 403
# The most dimensions of an index that keeps vectors as they are.
FLAT_DIMENSIONS = 505
RANK_CONSTANT = 60
# The most that the client ranks by words, or fuses. It reads one page of each list.
DEEPEST = 1000


class CosmosStore(Store):
    """A container of one item per text, its position as id.

    They are in one partition, which holds 20 GB: a batch is for one, and so are its ranks. Notes
    are items of a container of their own. The client looks for functions in the text of a query, so
    that nothing is a parameter: vectors are numbers, and words have letters and digits alone.
    What one batch may hold: learn.microsoft.com/azure/cosmos-db/nosql/transactional-batch
    """

    engine = "azure-cosmos-nosql"
    vendor = "Azure Cosmos DB"
    key = "AZURE_COSMOS_KEY"
    eventual = True
    rows_per_request = 100
    bytes_per_request = 1_800_000
    settings: "CosmosSettings"
    faults: ClassVar[Mapping[str, Fault]] = {
        "IncompleteReadError": Fault("lost", "the answer broke off"),
        "DecodeError": Fault("garbled"),
        "ServiceRequestTimeoutError": Fault("late"),
        "ServiceResponseTimeoutError": Fault("late"),
        "CosmosClientTimeoutError": Fault("late"),
        "AzureError": Fault("lost"),
    }

    def connect(self) -> None:
        """Check the key. Raises AssayError."""
        try:
            base64.b64decode(self.secret)
        except binascii.Error:
            raise AssayError(f"engine {self.engine}: {self.key} is no key: not base64") from None
        self._client: Any = None

    def read_version(self) -> str:
        """Make the client, which asks the service; return the version of the interface."""
        from azure.cosmos import CosmosClient
        from azure.cosmos.documents import ConnectionPolicy

        policy = ConnectionPolicy()
        # The client takes a total of 0 retries for its own default.
        policy.RetryOptions = type(policy.RetryOptions)(0)
        self._client = CosmosClient(
            self.url,
            self.secret,
            connection_policy=policy,
            connection_timeout=self.settings.timeout_seconds,
            read_timeout=self.settings.timeout_seconds,
            retry_total=0,
            enable_endpoint_discovery=False,
        )
        self._database = self._client.get_database_client(DATABASE)
        return "2020-07-15"

    def open_container(self, name: str) -> "ContainerProxy":
        """Return a container, which need not be there yet."""
        return self._database.get_container_client(name)

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Note the container, and make it."""
        language = self.settings.language
        kept = "flat" if dimensions <= FLAT_DIMENSIONS else "quantizedFlat"
        vector = {
            "path": "/vector",
            "dataType": "float32",
            "distanceFunction": "cosine",
            "dimensions": dimensions,
        }
        indexing = {
            "indexingMode": "consistent",
            "automatic": True,
            "includedPaths": [{"path": "/*"}],
            "excludedPaths": [{"path": '/"_etag"/?'}, {"path": "/vector/*"}],
            "fullTextIndexes": [{"path": "/text"}],
            "vectorIndexes": [
                {"path": "/vector", "type": kept if self.settings.exact else "diskANN"}
            ],
        }
        self.mark(name, note)
        self._make(
            name,
            "/part",
            vector_embedding_policy={"vectorEmbeddings": [vector]},
            full_text_policy={
                "defaultLanguage": language,
                "fullTextPaths": [{"path": "/text", "language": language}],
            },
            indexing_policy=indexing,
        )

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put items, in one batch."""
        items = []
        for row in rows:
            item = {"id": str(row.position), "part": PARTITION, "text": row.text}
            items.append(("upsert", ({**item, "vector": row.vector},)))
        self.open_container(name).execute_item_batch(items, PARTITION)

    def count(self, name: str) -> int:
        """Return how many items there are; none for as long as an index is being built."""
        container = self.open_container(name)
        told: dict[str, Any] = {}

        def keep(headers: Mapping[str, Any], _: object) -> None:
            told.update({key.lower(): value for key, value in headers.items()})

        container.read(populate_quota_info=True, response_hook=keep)
        if int(told.get(PROGRESS, 100)) not in (-1, 100):
            return 0
        counted = container.query_items("SELECT VALUE COUNT(1) FROM c", partition_key=PARTITION)
        return sum(int(each) for each in counted)

    def mark(self, name: str, note: str) -> None:
        """Note what is in a container."""
        item, notes = {"id": name, "note": note}, self.open_container(NOTES)
        with self.suppress_gone() as gone:
            notes.upsert_item(item)
        if gone:
            self._make(NOTES, "/id")
            notes.upsert_item(item)

    def find_notes(self) -> dict[str, str]:
        """Return the notes."""
        items: list[Any] = []
        with self.suppress_gone():
            items = list(self.open_container(NOTES).read_all_items())
        return {str(each["id"]): str(each["note"]) for each in items}

    def remove(self, name: str) -> None:
        """Remove the container, then its note."""
        with self.suppress_gone():
            self._database.delete_container(name)
        with self.suppress_gone():
            self.open_container(NOTES).delete_item(name, name)

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine, called VectorDistance here."""
        near = self._near(vector)
        statement = f"SELECT TOP {limit} c.id, {near} AS score FROM c ORDER BY {near}"
        found = self.open_container(target.name).query_items(statement, partition_key=PARTITION)
        return [(int(each["id"]), float(each["score"])) for each in found]

    def keyword(self, target: Target, text: str, limit: int) -> list[Scored]:
        """Return the texts that share a word, as many as the client ranks at most.

        Their scores come with the pages, for no query can select them.
        """
        if not (words := find_words(text)):
            return []
        limit = min(limit, DEEPEST)
        scores, _ = self._rank(
            target.name,
            f"SELECT TOP {limit} c.id FROM c WHERE FullTextContainsAny(c.text, {_quote(words)}) "
            f"ORDER BY RANK {_match(words)}",
        )
        return scores.list_by(0)[:limit]

    def hybrid(self, target: Target, text: str, vector: Vectors) -> list[Scored]:
        """Return all fused texts; a query without words is searched by vector only."""
        if not (words := find_words(text)):
            found = self.dense(target, vector, self.settings.depth.dense)
            return self.settings.make_formula().fuse(found, [])
        scores, positions = self._fuse(target.name, words, vector)
        return scores.fused(positions)

    def lists(self, target: Target, text: str, vector: Vectors) -> EngineLists:
        """Return the two lists that were fused: how deep they are the service decides."""
        if not (words := find_words(text)):
            found = self.dense(target, vector, self.settings.depth.dense)
            return EngineLists(found, [])
        return self._fuse(target.name, words, vector)[0].lists()

    def close(self) -> None:
        """Close the connections; may be called twice."""
        if self._client is not None:
            self._client.close()

    @classmethod
    def find_fault(cls, error: Any) -> Fault | None:
        """Return the fault of an answer by its status, or that of the table."""
        from azure.core.exceptions import HttpResponseError

        status = getattr(error, "status_code", None)
        if not isinstance(error, HttpResponseError) or not status:
            return super().find_fault(error)
        if status == LATE:
            return Fault("late")
        said = _find_reason(error)
        if status == FORBIDDEN:
            return Fault("answered", f"{FORBIDDEN}: {said}")  # a wrong key has another status
        if status == BUSY or (status == GONE and error.sub_status == UNMADE):
            status = LATER
        return Fault("answered", said, status, float(error.headers.get(WAIT) or 0) / 1000)

    def _make(self, name: str, partition: str, **policies: Any) -> None:
        """Make a container in the database, which is made where it is not there."""
        from azure.cosmos import PartitionKey

        self.make(lambda: self._client.create_database(DATABASE))
        path = PartitionKey(path=partition)
        self.make(lambda: self._database.create_container(name, path, **policies))

    def _near(self, vector: Vectors) -> str:
        """Return the cosine; the last argument asks for a comparison with every vector."""
        exact = json.dumps(self.settings.exact)
        return f"VectorDistance(c.vector, {json.dumps(vector.tolist())}, {exact})"

    def _fuse(
        self, name: str, words: Sequence[str], vector: Vectors
    ) -> tuple["RankedScores", list[int]]:
        """Return the client's scores of the texts that it fuses, and their order."""
        weights, depth = self.settings.weights, self.settings.depth.dense
        listed = json.dumps([weights.dense, weights.keyword])
        return self._rank(
            name,
            f"SELECT TOP {depth} c.id FROM c ORDER BY RANK "
            f"RRF({self._near(vector)}, {_match(words)}, {listed})",
        )

    def _rank(self, name: str, statement: str) -> tuple["RankedScores", list[int]]:
        """Return the scores of a ranked query's texts, and their order."""
        scores = RankedScores()
        found = self.open_container(name).query_items(
            statement, partition_key=PARTITION, max_item_count=DEEPEST, response_hook=scores
        )
        return scores, [int(each["id"]) for each in found]


class CosmosSettings(ServerSettings):
    """Azure Cosmos DB for NoSQL, a service at AZURE_COSMOS_ENDPOINT: vector and BM25 lists, fused
    by its client.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        "client",
        approximate=("diskann",),
        extra="azure-cosmos-nosql",
        modules=("azure.cosmos",),
        packages=("azure-cosmos",),
        address="AZURE_COSMOS_ENDPOINT",
    )
    store: ClassVar[type[CosmosStore]] = CosmosStore
    type: Literal["azure-cosmos-nosql"] = "azure-cosmos-nosql"
    language: str = Field(
        "en-US",
        pattern=r"[a-z]{2}-[A-Z]{2}",
        description=(
            "the language whose stemming and stop words the full-text index has, by Azure's name; "
            "BM25 has no setting"
        ),
    )
    exact: bool = Field(
        True, description="compare with every vector; false: through a DiskANN index"
    )
    weights: LegWeights = Field(
        default_factory=LegWeights, description="weight of each list in the fusion"
    )

    @model_validator(mode="after")
    def _can_fuse(self) -> "CosmosSettings":
        if self.depth.dense != self.depth.keyword:
            raise ValueError(
                "depth: Azure Cosmos DB chooses how deep both lists are, by how many fused texts "
                "are asked for; make both the same"
            )
        if self.depth.dense > DEEPEST:
            raise ValueError(f"depth: Azure Cosmos DB's client fuses {DEEPEST} texts at most")
        return self

    def make_formula(self) -> Formula:
        """Return the fusion of the client."""
        whole = UnitedRanks(RANK_CONSTANT, (self.weights.dense, self.weights.keyword))
        return Head(whole, self.depth.dense)

    def list_shape(self) -> list[Any]:
        """Return the settings on which a container depends."""
        return [self.language]


class RankedScores:
    """The scores in the pages of a ranked query, which the query cannot select.

    This is the client's `response_hook`. The scores of each text are those of the functions that
    rank it, in their order; `fused` is the score that the client gives a text of several functions.
    """

    def __init__(self) -> None:
        self._rows: dict[int, dict[str, Any]] = {}

    def __call__(self, headers: Mapping[str, Any], page: Mapping[str, Any]) -> None:
        """Take in a page. Raises IncompleteError if the list goes on: the client leaves off."""
        for row in page["Documents"]:
            if isinstance(row, dict) and "payload" in row:
                self._rows[int(row["payload"]["payload"]["id"])] = row
                if headers.get(CONTINUATION):
                    raise IncompleteError("a ranked list came in several pages")

    def list_by(self, component: int) -> list[Scored]:
        """Return all texts by their score of one function."""
        return ordered(
            (position, float(row["payload"]["componentScores"][component]))
            for position, row in self._rows.items()
        )

    def fused(self, positions: Sequence[int]) -> list[Scored]:
        """Return the client's fused scores of these."""
        return [(position, float(self._rows[position]["Score"])) for position in positions]

    def lists(self) -> EngineLists:
        """Return both lists of a fused query, of words without what shares none."""
        return EngineLists(self.list_by(0), [pair for pair in self.list_by(1) if pair[1] > 0])


@dataclass(frozen=True, slots=True)
class UnitedRanks(Formula):
    """Reciprocal rank fusion of all texts that either list holds, by their scores in both.

    Equal scores share a rank, and the next score has the next rank. What a list lacks has the
    lowest score there: to full-text search it shares no term. Source: the package azure-cosmos,
    _execution_context/hybrid_search_aggregator.py.
    """

    k: int
    weights: tuple[float, float]

    @property
    def statement(self) -> str:
        """The formula in one line."""
        return (
            f"sum over both lists of weight / ({self.k} + rank), ranks from 1 among all texts of "
            "both, equal scores share one, what a list lacks comes last there, "
            f"{state_weights(self.weights)}"
        )

    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        united = {position for position, _ in (*dense, *keyword)}
        scores: dict[int, float] = defaultdict(float)
        for found, weight in zip((dense, keyword), self.weights, strict=True):
            rank, before = 0, None
            for position, score in found:
                rank += score != before
                before = score
                scores[position] += weight / (self.k + rank)
            for position in united.difference(position for position, _ in found):
                scores[position] += weight / (self.k + rank + 1)
        return ordered(scores.items())


def _match(words: Sequence[str]) -> str:
    return f"FullTextScore(c.text, {_quote(words)})"


def _quote(words: Sequence[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _find_reason(error: Any) -> str:
    """Return the service's message, which it sends as JSON."""
    try:
        return str(json.loads(error.http_error_message)["message"])
    except (ValueError, TypeError, LookupError):
        return str(error.http_error_message or error.reason)
