"""Every leg that a config can name."""

from typing import Annotated

from pydantic import Field

from retrievers.legs.base import LegSettings
from retrievers.legs.code import CodeLegSettings
from retrievers.legs.definitions import DefinitionsLegSettings
from retrievers.legs.dense import DenseLegSettings
from retrievers.legs.exact import ExactLegSettings
from retrievers.legs.fielded import FieldedLegSettings
from retrievers.legs.graph import GraphLegSettings
from retrievers.legs.keyword import KeywordLegSettings
from retrievers.legs.late_interaction import LateInteractionLegSettings
from retrievers.legs.native import (
    EngineDenseSettings,
    EngineKeywordSettings,
    NativeHybridSettings,
)
from retrievers.legs.opensearch import OpenSearchLegSettings
from retrievers.legs.sparse import SparseLegSettings
from retrievers.settings.parts import Part

_Own = Annotated[
    DenseLegSettings
    | KeywordLegSettings
    | SparseLegSettings
    | LateInteractionLegSettings
    | FieldedLegSettings
    | CodeLegSettings
    | ExactLegSettings
    | DefinitionsLegSettings
    | GraphLegSettings
    | NativeHybridSettings
    | EngineDenseSettings
    | EngineKeywordSettings
    | OpenSearchLegSettings,
    Field(discriminator="type"),
]
LEGS = Part("assay.legs", LegSettings, _Own)
AnyLeg = Annotated[LegSettings, LEGS]
