"""Encoders: settings, and what each comes to be."""

from dataclasses import replace

from pydantic import Field, field_validator

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.files import ModelFiles
from assay.retrievers.model_files.packages import Pooling
from assay.retrievers.model_files.pins import DEFAULT_ENCODER
from assay.retrievers.model_files.recipes import Recipe
from assay.retrievers.models.base import Encoder
from assay.retrievers.models.choice import EncoderChoice, ModelSettings, check_tokens
from assay.retrievers.models.onnx import OnnxEncoder
from assay.retrievers.models.served.names import explain_served
from assay.retrievers.models.st import StEncoder, StRecipe
from assay.retrievers.settings import Resources


class EncoderSettings(ModelSettings, EncoderChoice):
    """An embedding model. Its name alone may stand for it."""

    model: str = Field(
        DEFAULT_ENCODER,
        min_length=1,
        description=(
            "a pinned model (`assay models list`), a local folder, or a hub id of a"
            " sentence-transformers model"
        ),
    )
    query_prefix: str | None = Field(
        None, description='put before each query; the model\'s own if not given, "" for none'
    )
    passage_prefix: str | None = Field(
        None, description='put before each passage; the model\'s own if not given, "" for none'
    )
    max_tokens: int | None = Field(
        None, ge=8, description="what is read of a text, in tokens; the model's own if not given"
    )
    pooling: Pooling | None = Field(
        None,
        description="how token vectors become one (onnx only); the model's own if not given",
    )

    @field_validator("model")
    @classmethod
    def _is_not_served(cls, value: str) -> str:
        if served := explain_served(value, "encoder"):
            raise ValueError(served)
        return value

    @property
    def name(self) -> str:
        """The model's."""
        return self.model

    def open(self, resources: Resources) -> Encoder:
        """Return the encoder. Neither it nor its files are loaded before a text needs them."""
        files = self.locate("encoder", resources)
        build = self._build_st if files.backend == "st" else self._build_onnx
        return build(files, resources)

    def _build_onnx(self, files: ModelFiles, resources: Resources) -> Encoder:
        given = self.model_dump(include=set(Recipe.__dataclass_fields__), exclude_none=True)
        recipe = replace(files.recipe, **given)
        check_tokens(recipe.max_tokens, files)
        return OnnxEncoder(files, recipe, resources.threads, self.fused)

    def _build_st(self, files: ModelFiles, resources: Resources) -> Encoder:
        if self.pooling is not None:
            raise AssayError(
                f"pooling: {self.pooling}; sentence-transformers pools {files.name} as the model"
                f" says, leave the key out"
            )
        recipe = StRecipe(self.max_tokens, self.dtype, self.query_prefix, self.passage_prefix)
        return StEncoder(files, recipe, resources)
