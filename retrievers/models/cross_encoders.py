"""Cross-encoders: models that read a query and a passage together."""

from dataclasses import replace

from pydantic import Field, field_validator

from assay.retrievers.model_files.pins import DEFAULT_CROSS_ENCODER
from assay.retrievers.models.base import CrossEncoder
from assay.retrievers.models.choice import CrossEncoderChoice, ModelSettings, check_tokens
from assay.retrievers.models.onnx import OnnxCrossEncoder
from assay.retrievers.models.served.names import explain_served
from assay.retrievers.models.st import StCrossEncoder, StRecipe
from assay.retrievers.settings import Resources


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
