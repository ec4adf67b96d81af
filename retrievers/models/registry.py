"""All encoders and cross-encoders that a config can name; those of this machine have no `type`."""

from typing import Annotated

from assay.retrievers.models.choice import CrossEncoderChoice, EncoderChoice
from assay.retrievers.settings.parts import Part

ENCODERS = Part(
    "assay.encoders",
    EncoderChoice,
    __package__,
    {
        "openai": "served.encoders:OpenAiEncoderSettings",
        "cohere": "served.encoders:CohereEncoderSettings",
        "voyage": "served.encoders:VoyageEncoderSettings",
        "jina": "served.encoders:JinaEncoderSettings",
    },
    untyped="encoders:EncoderSettings",
)
CROSS_ENCODERS = Part(
    "assay.cross_encoders",
    CrossEncoderChoice,
    __package__,
    {
        "cohere": "served.rerankers:CohereRerankerSettings",
        "voyage": "served.rerankers:VoyageRerankerSettings",
        "jina": "served.rerankers:JinaRerankerSettings",
        "tei": "served.rerankers:TeiRerankerSettings",
        "llm": "served.listwise:ListwiseSettings",
    },
    untyped="cross_encoders:CrossEncoderSettings",
)
AnyEncoder = Annotated[EncoderChoice, ENCODERS]
AnyCrossEncoder = Annotated[CrossEncoderChoice, CROSS_ENCODERS]
