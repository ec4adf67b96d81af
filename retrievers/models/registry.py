"""All encoders and cross-encoders that a config can name; those of this machine have no `type`."""

from typing import Annotated

from assay.retrievers.models.choice import CrossEncoderChoice, EncoderChoice
from assay.retrievers.settings.parts import Part

ENCODERS = Part(
    "assay.encoders",
    EncoderChoice,
    __package__,
    {
        "openai": "served.providers:OpenAiEncoderSettings",
        "cohere": "served.providers:CohereEncoderSettings",
        "voyage": "served.providers:VoyageEncoderSettings",
        "jina": "served.providers:JinaEncoderSettings",
    },
    untyped="encoders:EncoderSettings",
)
CROSS_ENCODERS = Part(
    "assay.cross_encoders",
    CrossEncoderChoice,
    __package__,
    {
        "cohere": "served.providers:CohereRerankerSettings",
        "voyage": "served.providers:VoyageRerankerSettings",
        "jina": "served.providers:JinaRerankerSettings",
        "tei": "served.providers:TeiRerankerSettings",
        "llm": "served.listwise:ListwiseSettings",
    },
    untyped="cross_encoders:CrossEncoderSettings",
)
AnyEncoder = Annotated[EncoderChoice, ENCODERS]
AnyCrossEncoder = Annotated[CrossEncoderChoice, CROSS_ENCODERS]
