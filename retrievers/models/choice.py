"""The settings that choose an encoder or cross-encoder, wherever it runs."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core.core_schema import CoreSchema

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.files import ModelFiles, locate
from assay.retrievers.model_files.packages import Kind
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.settings.parts import find_source

if TYPE_CHECKING:
    from assay.retrievers.models.base import CrossEncoder, Encoder
    from assay.retrievers.models.caching import CachingEncoder

Dtype = Literal["float32", "bfloat16", "float16"]
# Scores keep so far from 0 and 1 that there is room above and below them.
ROOM = 1e-9
# The logistic function of anything beyond lies nearer to 0 or 1 than that.
LARGEST_LOGIT = 30.0


class Reader(Protocol):
    """An encoder behind its cache, as far as it reads passages."""

    @property
    def identity(self) -> str:
        """The digest of everything that decides the result for a passage."""
        ...

    def keep(self, texts: Sequence[str]) -> int:
        """Encode what is not in the cache yet, and return how many texts that were."""
        ...

    def recall_seconds(self, texts: Sequence[str]) -> float | None:
        """Return the seconds that encoding the distinct `texts` took; None if some were lost."""
        ...

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the encoder behind the cache."""
        ...


class PassageEncoderChoice(Settings, ABC):
    """Base of the settings of whatever encodes passages: as a vector, as terms, or by tokens."""

    @abstractmethod
    def build(self, resources: Resources) -> Reader:
        """Return the encoder behind its cache. Nothing is loaded before a text needs it."""


class EncoderChoice(PassageEncoderChoice):
    """Base of the settings of every encoder."""

    @property
    def name(self) -> str:
        """The encoder's name for people."""
        return type(self).__name__

    @abstractmethod
    def open(self, resources: Resources) -> "Encoder":
        """Return the encoder. Neither it nor its files are loaded before a text needs them."""

    def build(self, resources: Resources) -> "CachingEncoder":
        """Return the encoder behind the cache, where what was plugged in has vectors of its own."""
        from assay.retrievers.models.caching import CachingEncoder

        spread = resources.pool.spread(self) if resources.pool else None
        return CachingEncoder(self.open(resources), self.name, resources, find_source(self), spread)


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

        Raises AssayError if it is no probability though `scores` says so.
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
    def build(self, resources: Resources) -> "CrossEncoder":
        """Return the cross-encoder. Nothing of it is loaded before a pair needs it."""


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
        """Return the model's files. Raises AssayError if `dtype` is not for its backend."""
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
