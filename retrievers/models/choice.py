"""What a config says to choose a model, common to encoders and cross-encoders."""

from typing import Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core.core_schema import CoreSchema

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.files import ModelFiles, locate
from assay.retrievers.model_files.packages import Kind
from assay.retrievers.settings import Resources, Settings

Dtype = Literal["float32", "bfloat16", "float16"]


class ModelSettings(Settings):
    """A model by its name. In YAML the name alone stands for `{model: name}`."""

    model: str = Field(min_length=1)
    backend: Literal["auto", "onnx", "st"] = Field(
        "auto",
        description=(
            "what runs the model: onnx (ONNX Runtime), st (sentence-transformers, an extra), or"
            " auto: onnx for pinned models and folders with an ONNX file, else st"
        ),
    )

    fused: bool = Field(
        True,
        description=(
            "pinned int8 models run as a graph of fused operations: the same weights, numbers that"
            " differ by rounding, and faster; false runs the graph of the model's file"
        ),
    )

    dtype: Dtype | None = Field(
        None,
        description=(
            "the numbers that sentence-transformers computes with (st only); the model's own if not"
            " given. On a GPU, float16 is several times as fast where the model is large"
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        return {"model": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core_schema))
        name = {"type": "string", "description": "the model's name; the rest by default"}
        return {"description": schema.get("description", ""), "anyOf": [name, schema]}

    def locate(self, kind: Kind, resources: Resources, backend: str = "") -> ModelFiles:
        """Return the model's files. Raises AssayError where `dtype` is not for its backend."""
        files = locate(self.model, backend or self.backend, kind, resources)
        if self.dtype and files.backend != "st":
            raise AssayError(
                f"dtype: {self.dtype}; ONNX Runtime computes {files.name} as its file says; leave"
                " the key out, or give backend: st"
            )
        return files


def check_tokens(max_tokens: int, files: ModelFiles) -> None:
    """Raise AssayError when the model cannot read `max_tokens` tokens at once."""
    positions = files.recipe.positions
    if positions is not None and max_tokens > positions:
        raise AssayError(
            f"max_tokens: {max_tokens}; the model {files.name} reads at most {positions}"
        )
