"""All encoders and cross-encoders that a config can name."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from assay.retrievers.models.cross_encoders import CrossEncoderChoice, CrossEncoderSettings
from assay.retrievers.models.encoders import EncoderChoice, EncoderSettings
from assay.retrievers.models.served.encoders import (
    CohereEncoderSettings,
    GeminiEncoderSettings,
    JinaEncoderSettings,
    OpenAiEncoderSettings,
    TeiEncoderSettings,
    VoyageEncoderSettings,
)
from assay.retrievers.models.served.listwise import ListwiseSettings
from assay.retrievers.models.served.pairwise import PairwiseSettings
from assay.retrievers.models.served.rerankers import (
    CohereRerankerSettings,
    JinaRerankerSettings,
    TeiRerankerSettings,
    VoyageRerankerSettings,
)
from assay.retrievers.settings.parts import Part

HERE, SERVED = "here", "served"


def _place(value: Any) -> str:
    """Return whether a model runs on this machine: those that do have no `type`."""
    typed = value.get("type") if isinstance(value, Mapping) else getattr(value, "type", None)
    return HERE if typed is None else SERVED


ServedEncoders = Annotated[
    OpenAiEncoderSettings
    | CohereEncoderSettings
    | VoyageEncoderSettings
    | JinaEncoderSettings
    | GeminiEncoderSettings
    | TeiEncoderSettings,
    Field(discriminator="type"),
]
ServedCrossEncoders = Annotated[
    CohereRerankerSettings
    | VoyageRerankerSettings
    | JinaRerankerSettings
    | TeiRerankerSettings
    | ListwiseSettings
    | PairwiseSettings,
    Field(discriminator="type"),
]
Encoders = Annotated[
    Annotated[EncoderSettings, Tag(HERE)] | Annotated[ServedEncoders, Tag(SERVED)],
    Discriminator(_place),
]
CrossEncoders = Annotated[
    Annotated[CrossEncoderSettings, Tag(HERE)] | Annotated[ServedCrossEncoders, Tag(SERVED)],
    Discriminator(_place),
]
AnyEncoder = Annotated[EncoderChoice, Part("assay.encoders", EncoderChoice, Encoders)]
AnyCrossEncoder = Annotated[
    CrossEncoderChoice, Part("assay.cross_encoders", CrossEncoderChoice, CrossEncoders)
]
