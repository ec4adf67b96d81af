"""Every stage that a config can name."""

from typing import Annotated

from assay.retrievers.settings.parts import Part
from assay.retrievers.stages.base import StageSettings

STAGES = Part(
    "assay.stages",
    StageSettings,
    __package__,
    {
        "recency": "scores:RecencySettings",
        "calibrate": "scores:CalibrateSettings",
        "threshold": "scores:ThresholdSettings",
        "content_hash": "drops:ContentHashSettings",
        "ngram": "drops:NgramSettings",
        "semantic": "drops:SemanticSettings",
        "mmr": "mmr:MmrSettings",
        "per_document": "drops:PerDocumentSettings",
        "rerank": "rerank:RerankSettings",
        "parents": "passages:ParentsSettings",
        "neighbours": "passages:NeighboursSettings",
        "definitions": "definitions:DefinitionsSettings",
        "context": "context:ContextSettings",
    },
)
AnyStage = Annotated[StageSettings, STAGES]
