"""Every stage that a config can name."""

from typing import Annotated

from pydantic import Field

from retrievers.settings.parts import Part
from retrievers.stages.base import StageSettings
from retrievers.stages.calibrate import CalibrateSettings
from retrievers.stages.content_hash import ContentHashSettings
from retrievers.stages.context import ContextSettings
from retrievers.stages.definitions import DefinitionsSettings
from retrievers.stages.mmr import MmrSettings
from retrievers.stages.neighbours import NeighboursSettings
from retrievers.stages.ngram import NgramSettings
from retrievers.stages.parents import ParentsSettings
from retrievers.stages.per_document import PerDocumentSettings
from retrievers.stages.recency import RecencySettings
from retrievers.stages.rerank import RerankSettings
from retrievers.stages.semantic import SemanticSettings
from retrievers.stages.threshold import ThresholdSettings

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
