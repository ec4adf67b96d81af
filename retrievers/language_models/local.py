"""Language models on this machine: a GGUF file by llama.cpp, anything else by transformers."""

from typing import Literal

from pydantic import Field

from assay.retrievers.language_models.base import LanguageModel, Limits
from assay.retrievers.language_models.gguf import GgufModel
from assay.retrievers.language_models.transformers import TransformersModel
from assay.retrievers.model_files.files import locate
from assay.retrievers.model_files.pins import DEFAULT_LANGUAGE_MODEL, find_pinned
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.store.paths import parse_path


class LocalSettings(Settings):
    """A model on this machine: free; a .gguf file needs the extra `local-llm`, others `st`."""

    type: Literal["local"] = "local"
    model: str = Field(
        DEFAULT_LANGUAGE_MODEL,
        min_length=1,
        description="a pinned model, a .gguf file, or a folder or hub id that transformers loads",
    )
    max_tokens: int = Field(100, ge=1, description="longest answer")
    context_tokens: int = Field(
        8192, ge=512, description="prompt and answer; no more than the model was trained for"
    )

    def build(self, resources: Resources) -> LanguageModel:
        """Return the model, not yet open. Raises AssayError when there is none of that name."""
        limits = Limits(self.context_tokens, self.max_tokens)
        pin = find_pinned(self.model, "language-model", "gguf")
        file = parse_path(self.model, "model")
        if pin or file.suffix == ".gguf":
            return GgufModel(self.model, pin or file, limits, resources)
        files = locate(self.model, "st", "language-model", resources)
        return TransformersModel(files, limits, resources)
