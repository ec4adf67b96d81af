"""Every engine that a config can name."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from retrievers.engines.providers import STRATEGIES, describe_missing
from retrievers.engines.qdrant_edge import QdrantEdgeSettings

AnyEngine = QdrantEdgeSettings
TYPES = frozenset({"qdrant-edge"})


def _refuse_missing(value: Any) -> Any:
    """Say of a store that is known, and has no adapter, what can be done instead."""
    type_ = value.get("type") if isinstance(value, dict) else None
    if type_ in STRATEGIES and type_ not in TYPES:
        raise ValueError(describe_missing(type_))
    return value


EngineSettings = Annotated[AnyEngine, BeforeValidator(_refuse_missing)]
