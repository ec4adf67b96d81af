"""Every leg that a config can name."""

from retrievers.legs.code import CodeLegSettings
from retrievers.legs.definitions import DefinitionsLegSettings
from retrievers.legs.dense import DenseLegSettings
from retrievers.legs.exact import ExactLegSettings
from retrievers.legs.fielded import FieldedLegSettings
from retrievers.legs.graph import GraphLegSettings
from retrievers.legs.keyword import KeywordLegSettings
from retrievers.legs.native import (
    EngineDenseSettings,
    EngineKeywordSettings,
    NativeHybridSettings,
)
from retrievers.legs.opensearch import OpenSearchLegSettings

LegSettings = (
    DenseLegSettings
    | KeywordLegSettings
    | FieldedLegSettings
    | CodeLegSettings
    | ExactLegSettings
    | DefinitionsLegSettings
    | GraphLegSettings
    | NativeHybridSettings
    | EngineDenseSettings
    | EngineKeywordSettings
    | OpenSearchLegSettings
)
