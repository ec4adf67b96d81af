"""Azure Cosmos DB for NoSQL, a service: vector and BM25 lists fused by its client library."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from assay.retrievers.engines.azure_cosmos_nosql.connection import (
    ADDRESS,
    PARTITION,
    CosmosConnection,
)
from assay.retrievers.engines.azure_cosmos_nosql.statements import (
    Scores,
    select_fused,
    select_matching,
    select_near,
)
from assay.retrievers.engines.base import EngineLists, LegWeights, check_dimensions
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.formulas import Formula, Head, state_weights
from assay.retrievers.engines.query_escaping import find_words
from assay.retrievers.engines.servers.collection_store import batch
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.service import ServiceEngine, ServiceSettings
from assay.retrievers.engines.servers.service_collections import ServiceStore
from assay.retrievers.fusion.ranking import Scored, ordered
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources, Settings


class CosmosIndexSettings(Settings):
    """What a container is made with."""

    language: str = Field(
        "en-US",
        pattern=r"[a-z]{2}-[A-Z]{2}",
        description=(
            "the language whose stemming and stop words the full-text index has, by Azure's name; "
            "BM25 has no setting"
        ),
    )
    exact: bool = Field(
        True,
        description="compare with every vector; false: through a DiskANN index",
    )


# What one batch may hold: learn.microsoft.com/azure/cosmos-db/nosql/transactional-batch
ITEMS_PER_REQUEST = 100
BYTES_PER_REQUEST = 1_800_000
# A float of 32 bits takes as many as JSON at most, with what separates it from the next.
BYTES_PER_NUMBER = 25
BYTES_PER_ITEM = 200
# The most dimensions of an index that keeps vectors as they are.
FLAT_DIMENSIONS = 505


class CosmosStore(ServiceStore[CosmosConnection, CosmosIndexSettings]):
    """A container of one item a text, its position as id.

    They are in one partition, which holds 20 GB: a batch is for one, and so are its ranks.
    """

    def create(self, name: str, note: str) -> None:
        """Note the container, and make it."""
        self.connection.write_note(name, note)
        self.connection.make_container(name, "/part", **self._describe())

    def upload(self, name: str) -> None:
        """Put the items into it, as many at once as one batch may hold."""
        container = self.connection.open_container(name)
        width = self.plan.dimensions * BYTES_PER_NUMBER + BYTES_PER_ITEM

        def measure(position: int) -> int:
            # A character may be escaped.
            return width + 6 * len(self._texts[position])

        positions = self.track(range(len(self._texts)))
        for chosen in batch(positions, ITEMS_PER_REQUEST, measure, BYTES_PER_REQUEST):
            items = [("upsert", (self._make(i),)) for i in chosen]
            self.connection.ask(partial(container.execute_item_batch, items, PARTITION))

    def _make(self, position: int) -> dict[str, Any]:
        return {
            "id": str(position),
            "part": PARTITION,
            "text": self._texts[position],
            "vector": self._vectors[position].tolist(),
        }

    def _describe(self) -> dict[str, Any]:
        """Return what the container is made with."""
        language, dimensions = self._settings.language, self.plan.dimensions
        kept = "flat" if dimensions <= FLAT_DIMENSIONS else "quantizedFlat"
        vector = {
            "path": "/vector",
            "dataType": "float32",
            "distanceFunction": "cosine",
            "dimensions": dimensions,
        }
        return {
            "vector_embedding_policy": {"vectorEmbeddings": [vector]},
            "full_text_policy": {
                "defaultLanguage": language,
                "fullTextPaths": [{"path": "/text", "language": language}],
            },
            "indexing_policy": {
                "indexingMode": "consistent",
                "automatic": True,
                "includedPaths": [{"path": "/*"}],
                "excludedPaths": [{"path": '/"_etag"/?'}, {"path": "/vector/*"}],
                "fullTextIndexes": [{"path": "/text"}],
                "vectorIndexes": [
                    {"path": "/vector", "type": kept if self._settings.exact else "diskANN"}
                ],
            },
        }


RANK_CONSTANT = 60
# The most that the client ranks by words, or fuses. It reads one page of each list.
DEEPEST = 1000

OpenedContainer: TypeAlias = OpenIndex[CosmosConnection]


class CosmosSettings(CosmosIndexSettings, ServiceSettings):
    """Azure Cosmos DB for NoSQL, a service at AZURE_COSMOS_ENDPOINT: vector and BM25 lists, fused
    by its client.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        "client",
        approximate=("diskann",),
        extra="azure-cosmos-nosql",
        modules=("azure.cosmos",),
        packages=("azure-cosmos",),
        address=ADDRESS,
    )
    type: Literal["azure-cosmos-nosql"] = "azure-cosmos-nosql"
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

    def build(self, resources: Resources) -> "CosmosEngine":
        """Return the engine, which has indexed nothing yet."""
        return CosmosEngine(self, resources)

    def connect(self) -> CosmosConnection:
        """Return connections to the account."""
        return CosmosConnection(self)


class CosmosEngine(ServiceEngine[CosmosSettings, CosmosConnection]):
    """A container of items with a text and its vector.

    How deep the lists are that are fused the service decides; `lists` gives what it decided.
    """

    store = CosmosStore

    @property
    def formula(self) -> Formula:
        """The fusion of the client."""
        weights = self._settings.weights
        whole = UnitedRanks(RANK_CONSTANT, (weights.dense, weights.keyword))
        return Head(whole, self.depth.dense)

    @property
    def _exact(self) -> bool:
        return self._settings.exact

    def _shape(self) -> Sequence[Any]:
        return [self._settings.language]

    def lists(self, text: str, vector: Vectors) -> EngineLists:
        """Return the two lists that `hybrid` fuses, as the service scores them for it."""
        if self._opened is None:
            return EngineLists([], [])
        check_dimensions(self.name, vector, self._dimensions)
        if not (words := find_words(text)):
            return EngineLists(self._search_dense(self._opened, vector, self.depth.dense), [])
        return self._fuse(self._opened, words, vector)[1]

    def _search_dense(self, opened: OpenedContainer, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine, of which VectorDistance is the name here."""
        statement = select_near(vector, min(limit, self._texts), self._exact)
        container = opened.connection.open_container(opened.name)
        return opened.connection.ask(
            lambda: [
                (int(each["id"]), float(each["score"]))
                for each in container.query_items(statement, partition_key=PARTITION)
            ]
        )

    def _search_keyword(self, opened: OpenedContainer, text: str, limit: int) -> list[Scored]:
        """Return the texts that share a word, 1,000 at most, which is as many as the client ranks.

        Their scores come with the pages, for no query can select them.
        """
        if not (words := find_words(text)):
            return []
        limit = min(limit, self._texts, DEEPEST)
        scores, _ = self._rank(opened, select_matching(words, limit))
        return scores.list_by(0)[:limit]

    def _search_hybrid(
        self, opened: OpenedContainer, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        """Return all fused texts; what has no word is asked as a vector alone."""
        if not (words := find_words(text)):
            return self.formula.fuse(self._search_dense(opened, vector, self.depth.dense), [])
        return self._fuse(opened, words, vector)[0]

    def _fuse(
        self, opened: OpenedContainer, words: Sequence[str], vector: Vectors
    ) -> tuple[list[Scored], EngineLists]:
        """Return what the client fuses, and both lists."""
        weights = self._settings.weights
        statement = select_fused(
            vector, words, self.depth.dense, self._exact, (weights.dense, weights.keyword)
        )
        scores, positions = self._rank(opened, statement)
        return opened.connection.ask(lambda: (scores.fused(positions), scores.lists()))

    def _rank(self, opened: OpenedContainer, statement: str) -> tuple[Scores, list[int]]:
        """Return what a ranked query tells of its texts, and their order."""
        container = opened.connection.open_container(opened.name)

        def search() -> tuple[Scores, list[int]]:
            scores = Scores()
            found = container.query_items(
                statement, partition_key=PARTITION, max_item_count=DEEPEST, response_hook=scores
            )
            return scores, [int(each["id"]) for each in found]

        return opened.connection.ask(search)


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
