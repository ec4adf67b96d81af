"""Every engine that a config can name."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from retrievers.engines.azure_ai_search.engine import AzureSearchSettings
from retrievers.engines.azure_cosmos_nosql.engine import CosmosSettings
from retrievers.engines.base import StoreSettings
from retrievers.engines.chroma.engine import ChromaSettings
from retrievers.engines.duckdb.engine import DuckDbSettings
from retrievers.engines.elasticsearch.engine import ElasticsearchSettings
from retrievers.engines.faiss.engine import FaissSettings
from retrievers.engines.lancedb.engine import LanceDbSettings
from retrievers.engines.milvus.engine import MilvusSettings
from retrievers.engines.milvus.lite import MilvusLiteSettings
from retrievers.engines.mongodb.engine import MongoSettings
from retrievers.engines.opensearch.engine import OpenSearchSettings
from retrievers.engines.pinecone.engine import PineconeSettings
from retrievers.engines.postgres.engine import PostgresSettings
from retrievers.engines.providers import STRATEGIES, describe_missing
from retrievers.engines.qdrant.edge import QdrantEdgeSettings
from retrievers.engines.qdrant.engine import QdrantSettings
from retrievers.engines.redis.engine import RedisSettings
from retrievers.engines.sqlite.engine import SqliteSettings
from retrievers.engines.tantivy.engine import TantivySettings
from retrievers.engines.weaviate.engine import WeaviateSettings
from retrievers.engines.zvec.engine import ZvecSettings
from retrievers.settings.parts import Part

_Own = Annotated[
    QdrantEdgeSettings
    | QdrantSettings
    | WeaviateSettings
    | OpenSearchSettings
    | DuckDbSettings
    | SqliteSettings
    | PostgresSettings
    | ZvecSettings
    | LanceDbSettings
    | AzureSearchSettings
    | CosmosSettings
    | MongoSettings
    | ElasticsearchSettings
    | MilvusSettings
    | MilvusLiteSettings
    | PineconeSettings
    | RedisSettings
    | FaissSettings
    | TantivySettings
    | ChromaSettings,
    Field(discriminator="type"),
]
ENGINES = Part("assay.engines", StoreSettings, _Own)
TYPES = frozenset(ENGINES.types)


def _refuse_missing(value: Any) -> Any:
    """Say of a store that is known, and no engine, what can be done instead."""
    type_ = value.get("type") if isinstance(value, dict) else None
    if type_ in STRATEGIES and type_ not in TYPES:
        raise ValueError(describe_missing(type_))
    return value


EngineSettings = Annotated[StoreSettings, ENGINES, BeforeValidator(_refuse_missing)]
