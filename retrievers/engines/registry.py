"""Every engine that a config can name."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.engines.providers import STRATEGIES, describe_missing
from assay.retrievers.engines.stores.azure_ai_search import AzureSearchSettings
from assay.retrievers.engines.stores.azure_cosmos_nosql import CosmosSettings
from assay.retrievers.engines.stores.chroma import ChromaSettings
from assay.retrievers.engines.stores.elasticsearch import ElasticsearchSettings
from assay.retrievers.engines.stores.faiss import FaissSettings
from assay.retrievers.engines.stores.lancedb import LanceDbSettings
from assay.retrievers.engines.stores.milvus import MilvusSettings
from assay.retrievers.engines.stores.mongodb import MongoSettings
from assay.retrievers.engines.stores.neo4j import Neo4jSettings
from assay.retrievers.engines.stores.opensearch import OpenSearchSettings
from assay.retrievers.engines.stores.pinecone import PineconeSettings
from assay.retrievers.engines.stores.postgres import PostgresSettings
from assay.retrievers.engines.stores.qdrant import QdrantSettings
from assay.retrievers.engines.stores.qdrant_edge import QdrantEdgeSettings
from assay.retrievers.engines.stores.redis import RedisSettings
from assay.retrievers.engines.stores.sql_server import SqlServerSettings
from assay.retrievers.engines.stores.sqlite import SqliteSettings
from assay.retrievers.engines.stores.weaviate import WeaviateSettings
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
