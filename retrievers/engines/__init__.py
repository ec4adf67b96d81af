"""The engines a config can name."""

from retrievers.engines.qdrant_edge import QdrantEdgeSettings

EngineSettings = QdrantEdgeSettings
