"""Neo4j, a server: full-text search and vectors of chunks that are linked within documents."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from assay.retrievers.engines.capabilities import Capabilities, Feature
from assay.retrievers.engines.formulas import Formula, OneList
from assay.retrievers.engines.servers.collections import INDEXING_SECONDS, batch
from assay.retrievers.engines.servers.engine import ServerSettings
from assay.retrievers.engines.servers.lucene import Analyzer
from assay.retrievers.engines.servers.store import DENIED, Fault, Row, Store, Target
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

COSINE = Feature("vector.similarity.cosine", (5, 18))
_OPERATOR = re.compile(r'[-+&|!(){}\[\]^"~*?:\\/<>=]')
_BLANK = re.compile(r"[\s\x00]+")
_RESERVED = {"AND", "OR", "NOT", "TO"}

PUT = """UNWIND $rows AS row MERGE (c:{name} {{id: row.id}})
SET c.position = row.position, c.text = row.text
WITH c, row WHERE size(row.vector) > 0
CALL db.create.setNodeVectorProperty(c, 'vector', row.vector)"""
PART_OF = """UNWIND $rows AS row MATCH (c:{name} {{id: row.id}})
MERGE (d:{name}_document {{id: row.document}}) MERGE (c)-[:PART_OF]->(d)"""
NEXT_CHUNK = """UNWIND $rows AS row MATCH (b:{name} {{id: row.before}}), (c:{name} {{id: row.id}})
MERGE (b)-[:NEXT_CHUNK]->(c)"""
MOVE = """UNWIND $rows AS row MATCH (c:{name} {{id: row.id}})
WHERE c.position <> row.position SET c.position = row.position"""
STALE = "MATCH (c:{name}) WHERE NOT c.id IN $ids DETACH DELETE c"
EMPTY = "MATCH (d:{name}_document) WHERE NOT (d)<-[:PART_OF]-() DELETE d"
NOTE = "MERGE (n:AssayCollection {{name: '{name}'}}) SET n.note = $note"
NEAREST = """MATCH (c:{name}) WHERE $allowed IS NULL OR c.position IN $allowed
WITH c.position AS position, vector.similarity.cosine(c.vector, $vector) AS score
RETURN position, score ORDER BY score DESC, position LIMIT $limit"""
ALONG_GRAPH = """CALL db.index.vector.queryNodes('{name}_vector', $candidates, $vector)
YIELD node AS c
WITH c.position AS position, vector.similarity.cosine(c.vector, $vector) AS score
RETURN position, score ORDER BY score DESC, position LIMIT $limit"""
MATCHES = """CALL db.index.fulltext.queryNodes('{name}_text', $query{most}) YIELD node, score
WITH node.position AS position, score WHERE $allowed IS NULL OR position IN $allowed
RETURN position, score LIMIT $limit"""
BESIDE = """UNWIND $positions AS position MATCH (c:{name} {{position: position}})
OPTIONAL MATCH (b:{name})-[:NEXT_CHUNK]->(c) OPTIONAL MATCH (c)-[:NEXT_CHUNK]->(a:{name})
RETURN position, b.position, a.position"""
REMOVE = "MATCH (c:{label}) CALL (c) {{ DETACH DELETE c }} IN TRANSACTIONS OF 10000 ROWS"


class Neo4jStore(Store):
    """Chunks as nodes of a label per collection, PART_OF a document, NEXT_CHUNK the one after.

    The full-text index is Lucene's BM25. A score of the vector index is (1 + cosine) / 2.
    """

    engine = "neo4j"
    vendor = "Neo4j"
    key = "NEO4J_PASSWORD"
    user = "NEO4J_USER"
    needs_key = False
    address = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://[A-Za-z0-9.-]+(:[0-9]+)?/?")
    address_words = "bolt://HOST:PORT or neo4j://HOST:PORT"
    filters_graph = False
    settings: "Neo4jSettings"
    faults: ClassVar[Mapping[str, Fault]] = {
        "Neo.ClientError.Transaction.TransactionTimedOut": Fault("late"),
        "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration": Fault("late"),
        "AuthError": Fault("answered", status=DENIED[0]),
        "Forbidden": Fault("answered", status=DENIED[1]),
        "TransientError": Fault("answered", status=503),
        "Neo4jError": Fault("answered"),
        "ServiceUnavailable": Fault("lost"),
        "SessionExpired": Fault("lost"),
        "ConnectionAcquisitionTimeoutError": Fault("late"),
        "ConfigurationError": Fault("lost"),
        "DriverError": Fault("garbled"),
        "OSError": Fault("lost"),
    }

    def connect(self) -> None:
        """Make the driver."""
        from neo4j import GraphDatabase

        user = os.environ.get(self.user, "neo4j")
        seconds = self.settings.timeout_seconds
        self._driver = GraphDatabase.driver(
            self.url,
            auth=(user, self.secret) if self.secret else None,
            connection_timeout=seconds,
            connection_acquisition_timeout=seconds,
            notifications_min_severity="OFF",
            telemetry_disabled=True,
        )

    def read_version(self) -> str:
        """Return the server's version."""
        return str(self._read("CALL dbms.components() YIELD versions")[0][0][0])

    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Make the note and the indexes of a label."""
        settings = self.settings
        words = f"{{`fulltext.analyzer`: '{settings.analyzer}'}}"
        for statement in (
            f"CREATE CONSTRAINT {name}_id IF NOT EXISTS FOR (c:{name}) REQUIRE c.id IS UNIQUE",
            f"CREATE CONSTRAINT {name}_document IF NOT EXISTS FOR (d:{name}_document) "
            "REQUIRE d.id IS UNIQUE",
            f"CREATE INDEX {name}_position IF NOT EXISTS FOR (c:{name}) ON (c.position)",
            f"CREATE FULLTEXT INDEX {name}_text IF NOT EXISTS FOR (c:{name}) ON EACH [c.text] "
            f"OPTIONS {{indexConfig: {words}}}",
        ):
            self._read(statement, access="WRITE")
        if not settings.exact and dimensions:
            graph = {
                "vector.dimensions": dimensions,
                "vector.similarity_function": "'cosine'",
                "vector.hnsw.m": settings.m,
                "vector.hnsw.ef_construction": settings.ef_construction,
            }
            told = ", ".join(f"`{key}`: {value}" for key, value in graph.items())
            self._read(
                f"CREATE VECTOR INDEX {name}_vector IF NOT EXISTS FOR (c:{name}) ON (c.vector) "
                f"OPTIONS {{indexConfig: {{{told}}}}}",
                access="WRITE",
            )
        self.mark(name, note)

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put rows with their links, in one transaction."""
        with self._driver.session() as session, session.begin_transaction() as change:
            _put(change, name, rows)
            change.commit()

    def finish(self, name: str) -> None:
        """Wait for the indexes."""
        self._read("CALL db.awaitIndexes($most)", INDEXING_SECONDS, most=int(INDEXING_SECONDS))

    def replace(self, name: str, rows: Sequence[Row], note: str) -> None:
        """Replace the sets of changed documents in one transaction, and remove what is stale."""
        seconds = INDEXING_SECONDS
        with (
            self._driver.session() as session,
            session.begin_transaction(timeout=seconds) as change,
        ):
            change.run(STALE.format(name=name), ids=[row.id for row in rows]).consume()
            kept = {id_ for (id_,) in change.run(f"MATCH (c:{name}) RETURN c.id")}
            for part in batch((row for row in rows if row.id not in kept), self.rows_per_request):
                _put(change, name, part)
            moved = [{"id": row.id, "position": row.position} for row in rows]
            change.run(MOVE.format(name=name), rows=moved).consume()
            change.run(EMPTY.format(name=name)).consume()
            change.run(NOTE.format(name=name), note=note).consume()
            change.commit()

    def find_notes(self) -> dict[str, str]:
        """Return the notes of the nodes that stand for collections."""
        return dict(self._read("MATCH (n:AssayCollection) RETURN n.name, n.note"))

    def mark(self, name: str, note: str) -> None:
        """Put the note in place of the one before."""
        self._read(NOTE.format(name=name), access="WRITE", note=note)

    def count(self, name: str) -> int:
        """Return how many chunks there are."""
        return int(self._read(f"MATCH (c:{name}) RETURN count(c)")[0][0])

    def remove(self, name: str) -> None:
        """Remove the nodes, their indexes, and last the note."""
        for label in (name, f"{name}_document"):
            self._read(REMOVE.format(label=label), INDEXING_SECONDS, access="WRITE")
        for kind, part in (
            ("CONSTRAINT", "id"),
            ("CONSTRAINT", "document"),
            ("INDEX", "position"),
            ("INDEX", "text"),
            ("INDEX", "vector"),
        ):
            self._read(f"DROP {kind} {name}_{part} IF EXISTS", access="WRITE")
        self._read("MATCH (n:AssayCollection {name: $name}) DELETE n", access="WRITE", name=name)

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest chunks, each compared, or those that the vector index finds."""
        settings = self.settings
        statement = NEAREST if settings.exact else ALONG_GRAPH
        found = self._read(
            statement.format(name=target.name),
            vector=vector.tolist(),
            limit=limit,
            candidates=max(limit, settings.candidates),
            allowed=None if target.allowed is None else target.allowed.tolist(),
        )
        return [(int(position), 2 * float(score) - 1) for position, score in found]

    def keyword(self, target: Target, text: str, limit: int) -> list[Scored]:
        """Return the chunks that share a term with the text."""
        query = quote(text)
        if not query:
            return []
        found = self._read(
            MATCHES.format(
                name=target.name, most=", {limit: $limit}" if target.allowed is None else ""
            ),
            query=query,
            limit=limit,
            allowed=None if target.allowed is None else target.allowed.tolist(),
        )
        return [(int(position), float(score)) for position, score in found]

    def beside(self, name: str, positions: Sequence[int]) -> list[list[int]]:
        """Return the chunks that NEXT_CHUNK links before and after each position."""
        found = self._read(BESIDE.format(name=name), positions=list(positions))
        linked = {position: [i for i in around if i is not None] for position, *around in found}
        return [linked.get(position, []) for position in positions]

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._driver.close()

    def _read(
        self, statement: str, seconds: float = 0.0, access: str = "READ", **given: Any
    ) -> list[list[Any]]:
        """Return the rows of one statement, which the server gives up after the time limit."""
        from neo4j import Query

        timed: Any = Query(statement, timeout=seconds or self.settings.timeout_seconds)
        with self._driver.session(default_access_mode=access) as session:
            rows: list[list[Any]] = session.run(timed, given).values()
            return rows


class Neo4jSettings(ServerSettings):
    """Neo4j, a server at NEO4J_URL: BM25 and vectors, fused here; chunks linked in documents."""

    language_key: ClassVar[str] = "analyzer"
    capabilities: ClassVar[Capabilities] = Capabilities(
        "here",
        approximate=("hnsw",),
        extra="neo4j",
        modules=("neo4j",),
        packages=("neo4j",),
        address="NEO4J_URL",
        features=(COSINE,),
        met="5.26.0",
        restricts=True,
        links=True,
    )
    store: ClassVar[type[Store]] = Neo4jStore
    type: Literal["neo4j"] = "neo4j"
    analyzer: Analyzer = Field(
        "english",
        description=(
            "how texts become terms: a language with its stop words and stemming, or standard, "
            "simple, whitespace, stop, which do not stem"
        ),
    )
    collection: str | None = Field(
        None,
        pattern=r"^[\w.-]+$",
        description=(
            "a collection that follows the documents: when one changes, its set of chunks is "
            "replaced; else there is one for each content"
        ),
    )
    exact: bool = Field(
        True, description="compare with every vector; false: the vector index, an HNSW graph"
    )
    m: int = Field(16, ge=1, le=512, description="HNSW: edges of a node")
    ef_construction: int = Field(
        100, ge=1, le=3200, description="HNSW: candidates when the graph is built"
    )
    candidates: int = Field(
        200, ge=1, description="HNSW: candidates when searching; never fewer than are asked for"
    )

    @property
    def features(self) -> Sequence[Feature]:
        """The feature that every vector search needs."""
        return (COSINE,)

    @property
    def kept_name(self) -> str:
        """The name of the collection that follows the documents."""
        return self.collection or ""

    def make_formula(self) -> Formula:
        """Return the description of the two lists."""
        return OneList("cosine of the dense list, BM25 of the keyword list; fused as legs alone")

    def list_shape(self) -> list[object]:
        """Return the settings on which an index depends."""
        return [self.analyzer, *([] if self.exact else [self.m, self.ef_construction])]


def _put(change: Any, name: str, rows: Iterable[Row]) -> None:
    """Write rows and their links, which are no other when written twice."""
    plain = [{field: getattr(row, field) for field in Row.__slots__} for row in rows]
    for statement, chosen in (
        (PUT, plain),
        (PART_OF, [row for row in plain if row["document"]]),
        (NEXT_CHUNK, [row for row in plain if row["before"]]),
    ):
        if chosen:
            change.run(statement.format(name=name), rows=chosen).consume()


def quote(text: str) -> str:
    """Return a query of Lucene's for any of the words of `text`, no character an operator.

    A word that is there several times counts as often, and takes one clause.
    """
    words = Counter(_BLANK.sub(" ", text).split())
    quoted = []
    for word, times in words.items():
        plain = f"\\{word}" if word in _RESERVED else _OPERATOR.sub(r"\\\g<0>", word)
        quoted.append(f"({plain})^{times}" if times > 1 else plain)
    return " ".join(quoted)
