"""Cross-encoders: models that read a query and a passage together."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from retrievers.models.base import CrossEncoder
from retrievers.models.choice import ModelSettings, check_tokens
from retrievers.models.files import locate
from retrievers.models.onnx import OnnxCrossEncoder
from retrievers.models.pins import DEFAULT_CROSS_ENCODER
from retrievers.models.st import StCrossEncoder
from retrievers.settings import Settings, Workshop
from retrievers.settings.parts import Part


class CrossEncoderChoice(Settings, ABC):
    """Base of the settings of every cross-encoder."""

    @abstractmethod
    def build(self, workshop: Workshop) -> CrossEncoder:
        """Return the cross-encoder. Nothing of it is loaded before a pair needs it."""


class CrossEncoderSettings(ModelSettings, CrossEncoderChoice):
    """A cross-encoder. Its name alone may stand for it."""

    model: str = Field(
        DEFAULT_CROSS_ENCODER,
        min_length=1,
        description=(
            "a pinned model (`assay models list`), a local folder, or a hub id of a"
            " sentence-transformers CrossEncoder"
        ),
    )
    max_tokens: int = Field(
        512,
        ge=16,
        description="what is read of query and passage together, in tokens; fewer is faster",
    )

    def build(self, workshop: Workshop) -> CrossEncoder:
        """Return the cross-encoder. Nothing of it is loaded before a pair needs it."""
        files = locate(self.model, self.backend, "cross-encoder", workshop)
        if files.backend == "st":
            return StCrossEncoder(files, self.max_tokens, workshop.threads, workshop.progress)
        check_tokens(self.max_tokens, files)
        recipe = replace(files.recipe, max_tokens=self.max_tokens)
        return OnnxCrossEncoder(files, recipe, workshop.threads, self.fused)


AnyCrossEncoder = Annotated[
    CrossEncoderChoice,
    Part("assay.cross_encoders", CrossEncoderChoice, CrossEncoderSettings),
]
