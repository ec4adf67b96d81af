"""Models on sentence-transformers: any hub id or folder. Needs the extra `st`."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.retrievers.base import AssayError, Progress
from assay.retrievers.model_files.files import ModelFiles
from assay.retrievers.model_files.hub import quieten
from assay.retrievers.models.base import CrossEncoder, Encoder, Vectors
from assay.retrievers.store.digest import digest

REVISION = 1  # raise it when the code below comes to give other vectors or scores
BATCH_ON_ACCELERATOR = 32
PACKAGES = ("sentence-transformers", "torch")


@dataclass(frozen=True, slots=True)
class StRecipe:
    """Prefixes and number of tokens; None leaves it to the model."""

    query_prefix: str | None
    passage_prefix: str | None
    max_tokens: int | None


class StEncoder(Encoder):
    """Encodes with a SentenceTransformer, its own prompts and pooling included."""

    def __init__(
        self, files: ModelFiles, recipe: StRecipe, threads: int, progress: Progress
    ) -> None:
        self._files = files
        self._recipe = recipe
        self._model = StModel("SentenceTransformer", files, recipe.max_tokens, threads, progress)

    @property
    def identity(self) -> str:
        """Digest of the files, the passages' prefix and the tokens read."""
        recipe = self._recipe
        kept = [recipe.passage_prefix, recipe.max_tokens]
        return digest("st encoder", REVISION, self._files.digest, *kept)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text."""
        prefix = self._recipe.passage_prefix
        return self._model.run("encode_document", list(texts), prompt=prefix, **_UNIT)

    def encode_query(self, text: str) -> Vectors:
        """Return the query's vector."""
        prefix = self._recipe.query_prefix
        vector: Vectors = self._model.run("encode_query", [text], prompt=prefix, **_UNIT)[0]
        return vector

    def metadata(self) -> Mapping[str, Any]:
        """Name, build, digest, prefixes other than the model's own, tokens read, the runtime."""
        recipe = self._recipe
        return {
            **self._files.metadata(*PACKAGES),
            "query_prefix": recipe.query_prefix,
            "passage_prefix": recipe.passage_prefix,
            "max_tokens": recipe.max_tokens or self._files.max_tokens,
        }


class StCrossEncoder(CrossEncoder):
    """Scores pairs with a sentence-transformers CrossEncoder, in its own unit."""

    def __init__(
        self, files: ModelFiles, max_tokens: int, threads: int, progress: Progress
    ) -> None:
        self._files = files
        self._max_tokens = max_tokens
        self._model = StModel("CrossEncoder", files, max_tokens, threads, progress)

    @property
    def identity(self) -> str:
        """Digest of the files and the tokens read."""
        return digest("st cross-encoder", REVISION, self._files.digest, self._max_tokens)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score a text. On a GPU its last digits may depend on the other texts."""
        scores = self._model.run("predict", [(query, text) for text in texts])
        if scores.ndim != 1:
            raise AssayError(
                f"model {self._files.name}: gives {scores.shape[1]} numbers a pair; a"
                f" cross-encoder that ranks gives one"
            )
        return [float(score) for score in scores]

    def metadata(self) -> Mapping[str, Any]:
        """Name, build, digest, how pairs are read, and the runtime."""
        return {**self._files.metadata(*PACKAGES), "max_tokens": self._max_tokens}


_UNIT = {"normalize_embeddings": True}


class StModel:
    """A model of sentence-transformers, loaded at the first text. One call runs at a time."""

    def __init__(
        self, kind: str, files: ModelFiles, max_tokens: int | None, threads: int, progress: Progress
    ) -> None:
        self._kind = kind
        self._files = files
        self._max_tokens = max_tokens
        self._threads = threads
        self._progress = progress
        self._lock = threading.Lock()  # its tokenizers refuse a second caller
        self._loaded: Any = None

    def run(self, method: str, inputs: list[Any], **keywords: Any) -> Vectors:
        """Return what the model's `method` makes of `inputs`, as float32."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            # On a CPU a batch saves no time, and alone an input's numbers are its own.
            batch = 1 if self._loaded.device.type == "cpu" else BATCH_ON_ACCELERATOR
            work: Callable[..., Any] = getattr(self._loaded, method)
            output = work(inputs, batch_size=batch, show_progress_bar=False, **keywords)
            return np.asarray(output, dtype=np.float32)

    def _load(self) -> Any:
        quieten()
        self._progress.say(f"loading model {self._files.name} ({self._files.build}) …")
        location = self._files.location()
        import sentence_transformers
        import torch

        torch.set_num_threads(self._threads)
        try:
            model = getattr(sentence_transformers, self._kind)(**location)
        except Exception as error:  # whatever its many libraries raise
            first = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise AssayError(
                f"model {self._files.name}: sentence-transformers cannot load it: {first}"
            ) from None
        if self._max_tokens is not None:
            model.max_seq_length = self._max_tokens
        return model
