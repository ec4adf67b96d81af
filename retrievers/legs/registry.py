"""Every leg that a config can name."""

import warnings
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

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


def _read_old(value: Any) -> Any:
    """Return a leg of an old type as it is written now; anything else as it is."""
    type_ = value.get("type") if isinstance(value, dict) else None
    if type_ == "bm25f":
        now = "{type: bm25, weights: {}}, with your weights"
        value = {"weights": {}, **value, "type": "bm25"}
    elif type_ == "opensearch":
        now = (
            "{type: engine_keyword, engine: {type: opensearch, knn: {method: none}}}, with all "
            "keys but depth below engine"
        )
        engine = {key: item for key, item in value.items() if key != "depth"}
        depth = {key: item for key, item in value.items() if key == "depth"}
        engine["knn"] = {"method": "none"}
        value = {"type": "engine_keyword", **depth, "engine": engine}
    else:
        return value
    warnings.warn(
        f"a leg {{type: {type_}}} is now {now}; the old type works until release 0.3",
        FutureWarning,
        stacklevel=2,
    )
    return value


AnyLeg = Annotated[LegSettings, LEGS, BeforeValidator(_read_old)]
