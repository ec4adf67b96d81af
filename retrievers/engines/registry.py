"""Every engine that a config can name."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from assay.retrievers.engines.azure_ai_search.engine import AzureSearchSettings
from assay.retrievers.engines.azure_cosmos_nosql.engine import CosmosSettings
from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.engines.chroma.engine import ChromaSettings
from assay.retrievers.engines.elasticsearch.engine import ElasticsearchSettings
from assay.retrievers.engines.faiss.engine import FaissSettings
from assay.retrievers.engines.lancedb.engine import LanceDbSettings
from assay.retrievers.engines.milvus.engine import MilvusSettings
from assay.retrievers.engines.mongodb.engine import MongoSettings
from assay.retrievers.engines.neo4j import Neo4jSettings
from assay.retrievers.engines.opensearch.engine import OpenSearchSettings
from assay.retrievers.engines.pinecone.engine import PineconeSettings
from assay.retrievers.engines.postgres.engine import PostgresSettings
from assay.retrievers.engines.providers import STRATEGIES, describe_missing
from assay.retrievers.engines.qdrant.edge import QdrantEdgeSettings
from assay.retrievers.engines.qdrant.engine import QdrantSettings
from assay.retrievers.engines.redis.engine import RedisSettings
from assay.retrievers.engines.sql_server import SqlServerSettings
from assay.retrievers.engines.sqlite.engine import SqliteSettings
from assay.retrievers.engines.weaviate.engine import WeaviateSettings
from assay.retrievers.settings.parts import Part

_Own = Annotated[
    QdrantEdgeSettings
    | QdrantSettings
    | WeaviateSettings
    | OpenSearchSettings
    | SqliteSettings
    | PostgresSettings
    | LanceDbSettings
    | AzureSearchSettings
    | CosmosSettings
    | MongoSettings
    | ElasticsearchSettings
    | MilvusSettings
    | PineconeSettings
    | RedisSettings
    | Neo4jSettings
    | SqlServerSettings
    | FaissSettings
    | ChromaSettings,
    Field(discriminator="type"),
]
ENGINES = Part("assay.engines", StoreSettings, _Own)
TYPES = frozenset(ENGINES.types)
Name = Literal[tuple(sorted(TYPES))]  # type: ignore[valid-type]


def expand_name(value: Any) -> Any:
    """Return an engine as a config has it; a name stands for its default settings."""
    return {"type": value} if isinstance(value, str) else value


def _find_engine(value: Any) -> Any:
    """Expand a name; say of a store that is known, and no engine, what can be done instead."""
    value = expand_name(value)
    type_ = value.get("type") if isinstance(value, dict) else None
    if type_ in STRATEGIES and type_ not in TYPES:
        raise ValueError(describe_missing(type_))
    return value


EngineSettings = Annotated[
    StoreSettings,
    ENGINES,
    BeforeValidator(_find_engine, json_schema_input_type=Annotated[StoreSettings, ENGINES] | Name),
]
