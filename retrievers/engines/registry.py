"""Every engine that a config can name."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.engines.providers import STRATEGIES, describe_missing
from assay.retrievers.settings.parts import Part

ENGINES = Part(
    "assay.engines",
    StoreSettings,
    __package__,
    {
        "qdrant-edge": "stores.qdrant_edge:QdrantEdgeSettings",
        "qdrant": "stores.qdrant:QdrantSettings",
        "weaviate": "stores.weaviate:WeaviateSettings",
        "opensearch": "stores.opensearch:OpenSearchSettings",
        "sqlite": "stores.sqlite:SqliteSettings",
        "postgres": "stores.postgres:PostgresSettings",
        "lancedb": "stores.lancedb:LanceDbSettings",
        "azure-ai-search": "stores.azure_ai_search:AzureSearchSettings",
        "azure-cosmos-nosql": "stores.azure_cosmos_nosql:CosmosSettings",
        "mongodb": "stores.mongodb:MongoSettings",
        "elasticsearch": "stores.elasticsearch:ElasticsearchSettings",
        "milvus": "stores.milvus:MilvusSettings",
        "pinecone": "stores.pinecone:PineconeSettings",
        "redis": "stores.redis:RedisSettings",
        "neo4j": "stores.neo4j:Neo4jSettings",
        "sql-server": "stores.sql_server:SqlServerSettings",
        "faiss": "stores.faiss:FaissSettings",
        "chroma": "stores.chroma:ChromaSettings",
    },
)
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
