"""Every leg that a config can name."""

from typing import Annotated

from assay.retrievers.legs.base import LegSettings
from assay.retrievers.settings.parts import Part

LEGS = Part(
    "assay.legs",
    LegSettings,
    __package__,
    {
        "dense": "dense:DenseLegSettings",
        "bm25": "keyword:KeywordLegSettings",
        "sparse": "sparse:SparseLegSettings",
        "late_interaction": "late_interaction:LateInteractionLegSettings",
        "code": "code:CodeLegSettings",
        "exact": "lookups.exact:ExactLegSettings",
        "definitions": "definitions:DefinitionsLegSettings",
        "graph": "graph:GraphLegSettings",
        "native_hybrid": "native:NativeHybridSettings",
        "engine_dense": "native:EngineDenseSettings",
        "engine_keyword": "native:EngineKeywordSettings",
    },
)
AnyLeg = Annotated[LegSettings, LEGS]
