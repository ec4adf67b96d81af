"""Every leg that a config can name."""

from typing import Annotated

from pydantic import Field

from assay.retrievers.legs.base import LegSettings
from assay.retrievers.legs.code import CodeLegSettings
from assay.retrievers.legs.definitions import DefinitionsLegSettings
from assay.retrievers.legs.dense import DenseLegSettings
from assay.retrievers.legs.graph import GraphLegSettings
from assay.retrievers.legs.keyword import KeywordLegSettings
from assay.retrievers.legs.late_interaction import LateInteractionLegSettings
from assay.retrievers.legs.lookups.exact import ExactLegSettings
from assay.retrievers.legs.native import (
    EngineDenseSettings,
    EngineKeywordSettings,
    NativeHybridSettings,
)
from assay.retrievers.legs.sparse import SparseLegSettings
from assay.retrievers.settings.parts import Part

_Own = Annotated[
    DenseLegSettings
    | KeywordLegSettings
    | SparseLegSettings
    | LateInteractionLegSettings
    | CodeLegSettings
    | ExactLegSettings
    | DefinitionsLegSettings
    | GraphLegSettings
    | NativeHybridSettings
    | EngineDenseSettings
    | EngineKeywordSettings,
    Field(discriminator="type"),
]
LEGS = Part("assay.legs", LegSettings, _Own)
AnyLeg = Annotated[LegSettings, LEGS]
