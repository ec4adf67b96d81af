"""Cross-encoders: models that read a query and a passage together."""

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.pins import DEFAULT_CROSS_ENCODER
from assay.retrievers.models.base import CrossEncoder
from assay.retrievers.models.choice import ModelSettings, check_tokens
from assay.retrievers.models.onnx import OnnxCrossEncoder
from assay.retrievers.models.served.names import explain_served
from assay.retrievers.models.st import StCrossEncoder, StRecipe
from assay.retrievers.settings import Resources, Settings

# Scores keep so far from 0 and 1 that there is room above and below them.
ROOM = 1e-9
# The logistic function of anything beyond lies nearer to 0 or 1 than that.
LARGEST_LOGIT = 30.0


class CrossEncoderChoice(Settings, ABC):
    """Base of the settings of every cross-encoder, which say what its numbers mean.

    Those of a `listwise` one mean no more than an order.
    """

    listwise: ClassVar[bool] = False

    scores: Literal["logit", "probability"] = Field(
        "logit",
        description=(
            "what the model's numbers are: logit (any number, of which the logistic function makes"
            " 0 to 1), or probability (0 to 1 already, as of models that end in a sigmoid)"
        ),
    )

    def to_probability(self, score: float) -> float:
        """Return a number of the model as a score between 0 and 1, both excluded.

        Raises AssayError where it is no probability though `scores` says so.
        """
        if self.scores == "logit":
            logit = min(max(score, -LARGEST_LOGIT), LARGEST_LOGIT)
            score = 1 / (1 + math.exp(-logit))
        elif not 0 <= score <= 1:
            raise AssayError(
                f"model.scores: the cross-encoder gives {score:.4g}, which is no probability;"
                " allowed for such a model: logit"
            )
        return min(max(score, ROOM), 1 - ROOM)

    @abstractmethod
    def build(self, resources: Resources) -> CrossEncoder:
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

    @field_validator("model")
    @classmethod
    def _is_not_served(cls, value: str) -> str:
        if served := explain_served(value, "model"):
            raise ValueError(served)
        return value

    def build(self, resources: Resources) -> CrossEncoder:
        """Return the cross-encoder. Nothing of it is loaded before a pair needs it."""
        files = self.locate("cross-encoder", resources)
        if files.backend == "st":
            return StCrossEncoder(files, StRecipe(self.max_tokens, self.dtype), resources)
        check_tokens(self.max_tokens, files)
        recipe = replace(files.recipe, max_tokens=self.max_tokens)
        return OnnxCrossEncoder(files, recipe, resources.threads, self.fused)
