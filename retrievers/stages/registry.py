"""Every stage that a config can name."""

from typing import Annotated

from pydantic import Field

from assay.retrievers.settings.parts import Part
from assay.retrievers.stages.base import StageSettings
from assay.retrievers.stages.context import ContextSettings
from assay.retrievers.stages.definitions import DefinitionsSettings
from assay.retrievers.stages.drops import (
    ContentHashSettings,
    NgramSettings,
    PerDocumentSettings,
    SemanticSettings,
)
from assay.retrievers.stages.mmr import MmrSettings
from assay.retrievers.stages.passages import NeighboursSettings, ParentsSettings
from assay.retrievers.stages.rerank import RerankSettings
from assay.retrievers.stages.scores import CalibrateSettings, RecencySettings, ThresholdSettings

_Own = Annotated[
    RecencySettings
    | CalibrateSettings
    | ThresholdSettings
    | ContentHashSettings
    | NgramSettings
    | SemanticSettings
    | MmrSettings
    | PerDocumentSettings
    | RerankSettings
    | ParentsSettings
    | NeighboursSettings
    | DefinitionsSettings
    | ContextSettings,
    Field(discriminator="type"),
]
AnyStage = Annotated[StageSettings, Part("assay.stages", StageSettings, _Own)]
