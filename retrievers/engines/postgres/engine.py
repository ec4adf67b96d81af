"""PostgreSQL with pgvector: dense search, full-text search and their fusion in one statement."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal

from pydantic import Field

from assay.retrievers.engines.adapter import StoredIndex
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.postgres.embedded import CAPABILITIES
from assay.retrievers.engines.postgres.indexes import DenseIndex, ExactScan
from assay.retrievers.engines.postgres.server import PostgresServer
from assay.retrievers.engines.postgres.table import (
    Content,
    check_server,
    clean,
    find_table,
    make_table,
    write_vector,
)
from assay.retrievers.engines.statements import (
    Select,
    StatementEngine,
    StatementSettings,
)
from assay.retrievers.fusion.ranking import Positions, Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.services.retries import RetrySettings
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.store.cache import default_root

# What could change answers, or their speed from one query to the next, is the same on each server.
SESSION = {
    "gin_fuzzy_search_limit": "0",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "standard_conforming_strings": "on",
}
# Vectors have unit length, so that their inner product is the cosine; <#> is its negative. An index
# gives rows by distance alone, and can be used for no other order.
NEIGHBOURS = """SELECT position, -(embedding <#> $vector::vector) AS score FROM {table}
WHERE {allowed} ORDER BY embedding <#> $vector::vector{ties} LIMIT $dense_depth"""
# Each lexeme of the query is quoted, so that no character of it is an operator.
MATCHES = r"""SELECT position, {rank}(terms, query, {normalisation})::float8 AS score
FROM {table}, (
    SELECT string_agg(
        '''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | '
    )::tsquery AS query
    FROM unnest(tsvector_to_array(to_tsvector('{language}'::regconfig, $text))) AS lexeme
) AS question
WHERE terms @@ query AND {allowed} ORDER BY score DESC, position LIMIT $keyword_depth"""


class TextSearchSettings(Settings):
    """Full-text search: any lexeme of the query is enough. It has no idf, so it is not BM25."""

    language: str = Field(
        "english",
        pattern=r"^[a-z_][a-z0-9_]*$",
        description="text search configuration of the server: parser, stop words, stemming",
    )
    rank: Literal["ts_rank", "ts_rank_cd"] = Field(
        "ts_rank",
        description=(
            "ts_rank: by counts of the lexemes, repetitions for ever less, their mean over the "
            "query's lexemes; ts_rank_cd: by cover density, which with any of several lexemes is "
            "a plain count. Neither heeds how rare a lexeme is"
        ),
    )
    normalisation: int = Field(
        1,
        ge=0,
        le=63,
        description=(
            "what rank is divided by, numbers added up: 0 nothing, 1 1 + log of the length, 2 the "
            "length, 4 mean distance of covers (ts_rank_cd), 8 distinct words, 16 1 + log of "
            "these, 32 rank + 1"
        ),
    )


class PostgresSettings(StatementSettings):
    """PostgreSQL with pgvector, embedded or that of POSTGRES_URL: both lists in one statement."""

    language_key: ClassVar[str] = "text.language"
    capabilities: ClassVar[Capabilities] = CAPABILITIES
    type: Literal["postgres"]
    text: TextSearchSettings = Field(
        default_factory=TextSearchSettings, description="the engine's keyword index"
    )
    index: DenseIndex = Field(
        default_factory=ExactScan, description="the dense index: exact, hnsw or ivfflat"
    )
    timeout: float = Field(
        30.0, gt=0, description="seconds until a search, or a try to connect, is given up"
    )
    retries: RetrySettings = Field(
        default_factory=RetrySettings, description="what is done when the server fails"
    )

    def build(self, resources: Resources) -> "PostgresEngine":
        """Return the engine, which has indexed nothing yet.

        Raises AssayError when the extra `postgres` is not installed.
        """
        return PostgresEngine(self, resources)

    def server(self) -> PostgresServer:
        """Return the server; the embedded one has its data in the default cache."""
        return PostgresServer(default_root(), self.retries, self.timeout, {})


class PostgresEngine(StatementEngine[PostgresSettings, str]):
    """A table with a text's position, its vector and its lexemes; the text itself is not kept."""

    def __init__(self, settings: PostgresSettings, resources: Resources) -> None:
        super().__init__(settings, resources)
        session = {**SESSION, **settings.index.session}
        self._server = PostgresServer(
            resources.cache.root, settings.retries, settings.timeout, session
        )

    def close(self) -> None:
        """Close the connections; an embedded server that nobody else uses then stops."""
        super().close()
        self._server.close()

    def restrict(self, allowed: Positions) -> Engine | None:
        """As any engine; an approximate index would filter only what it has found."""
        return super().restrict(allowed) if self._exact else None

    @property
    def _exact(self) -> bool:
        return self._settings.index.type == "exact"

    def _list_versions(self) -> Sequence[str]:
        return [self._facts["version"], self._facts["pgvector"]]

    def _shape(self) -> Sequence[Any]:
        return [self._settings.text.language, self._settings.index.definition]

    def _store(
        self, texts: Sequence[str], vectors: Vectors, identity: str
    ) -> tuple[str, StoredIndex]:
        """Build the table, or find it on the server; tell also the version of pgvector."""
        server, where, settings = self._server, self._server.url, self._settings
        self._facts |= server.run(lambda c: check_server(c, where, settings.text.language))
        content = Content(
            key=self._key(texts, identity),
            identity=identity,
            dimensions=vectors.shape[1],
            texts=len(texts),
            language=settings.text.language,
            index=settings.index.definition,
        )
        stored = server.run(
            lambda c: find_table(c, where, content) or make_table(c, where, content, texts, vectors)
        )
        return content.table, stored

    def _select_dense(self, vector: Vectors, limit: int) -> Select:
        ties = ", position" if self._exact else ""
        statement = NEIGHBOURS.replace("{ties}", ties)
        return self._select(statement, {"vector": write_vector(vector), "dense_depth": limit})

    def _select_keyword(self, text: str, limit: int) -> Select:
        return self._select(MATCHES, {"text": clean(text), "keyword_depth": limit})

    def _select(self, statement: str, parameters: Mapping[str, Any]) -> Select:
        """Return a statement for the texts that may be found."""
        if self._allowed is None:
            given, allowed = parameters, "true"
        else:
            given = {**parameters, "allowed": self._allowed.tolist()}
            allowed = "position = ANY($allowed)"
        words = self._settings.text.model_dump()
        return Select(statement.format(table=self._opened, allowed=allowed, **words), given)

    def _ask(self, opened: str, statement: str, parameters: Mapping[str, Any]) -> list[Scored]:
        translated = _translate(statement)
        return self._server.run(
            lambda connection: connection.execute(translated, parameters, prepare=True).fetchall()
        )


@lru_cache(64)
def _translate(statement: str) -> str:
    """Return `statement` with its $parameters as psycopg writes them."""
    return re.sub(r"\$([a-z_]+)", r"%(\1)s", statement)
