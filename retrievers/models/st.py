"""Models on sentence-transformers: any hub id or folder. Needs the extra `st`."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.files import ModelFiles
from assay.retrievers.model_files.hub import quieten
from assay.retrievers.models.base import TEXTS_PER_PART, CrossEncoder, Encoder, Vectors
from assay.retrievers.models.choice import Dtype
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

REVISION = 1  # raise it when the code below comes to give other vectors or scores
# On a GPU larger batches save no time in 32 bits.
BATCH, BATCH_OF_HALVES = 32, 256
TEXTS_PER_PART_ON_GPU = 1024  # what a killed run loses there: seconds
PACKAGES = ("sentence-transformers", "torch")


@dataclass(frozen=True, slots=True)
class StRecipe:
    """Number of tokens, type of the numbers, and prefixes; None leaves it to the model."""

    max_tokens: int | None = None
    dtype: Dtype | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None

    @property
    def kept(self) -> tuple[str | int | None, ...]:
        """The fields that decide a passage's vector, apart from the prefix, for digests."""
        return (self.max_tokens, self.dtype) if self.dtype else (self.max_tokens,)

    def metadata(self) -> dict[str, Any]:
        """Return the facts on how texts are read."""
        return {"max_tokens": self.max_tokens} | ({"dtype": self.dtype} if self.dtype else {})


class StEncoder(Encoder):
    """Encodes with a SentenceTransformer, its own prompts and pooling included."""

    def __init__(self, files: ModelFiles, recipe: StRecipe, resources: Resources) -> None:
        self._files = files
        self._recipe = recipe
        self._model = StModel("SentenceTransformer", files, recipe, resources)

    @property
    def identity(self) -> str:
        """The digest of files, the passages' prefix, the tokens read and the type of numbers."""
        kept = [self._recipe.passage_prefix, *self._recipe.kept]
        return digest("st encoder", REVISION, self._files.digest, *kept)

    @property
    def texts_per_part(self) -> int:
        """The number of texts encoded before they are stored."""
        return TEXTS_PER_PART_ON_GPU if self._model.on_gpu else TEXTS_PER_PART

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text."""
        prefix = self._recipe.passage_prefix
        return self._model.encode("encode_document", texts, prefix)

    def encode_query(self, text: str) -> Vectors:
        """Return the query's vector."""
        prefix = self._recipe.query_prefix
        vector: Vectors = self._model.encode("encode_query", [text], prefix)[0]
        return vector

    def metadata(self) -> Mapping[str, Any]:
        """Return name, build, digest, prefixes if not the model's own, tokens read, and runtime."""
        recipe = self._recipe
        return {
            **self._files.metadata(*PACKAGES),
            "query_prefix": recipe.query_prefix,
            "passage_prefix": recipe.passage_prefix,
            **recipe.metadata(),
            "max_tokens": recipe.max_tokens or self._files.max_tokens,
        }


class StCrossEncoder(CrossEncoder):
    """Scores pairs with a sentence-transformers CrossEncoder, in its own unit."""

    def __init__(self, files: ModelFiles, recipe: StRecipe, resources: Resources) -> None:
        self._files = files
        self._recipe = recipe
        self._model = StModel("CrossEncoder", files, recipe, resources)

    @property
    def identity(self) -> str:
        """The digest of the files, the tokens read and the type of numbers."""
        return digest("st cross-encoder", REVISION, self._files.digest, *self._recipe.kept)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score per text. On a GPU its last digits may depend on the other texts."""
        pairs = [(query, text) for text in texts]
        scores = np.asarray(self._model.run("predict", pairs), dtype=np.float32)
        if scores.ndim != 1:
            raise AssayError(
                f"model {self._files.name}: gives {scores.shape[1]} numbers a pair; a"
                f" cross-encoder that ranks gives one"
            )
        return [float(score) for score in scores]

    def count_cut(self, query: str, texts: Sequence[str]) -> int:
        """Return the number of texts that are too long to be read whole with `query`."""
        limit = self._recipe.max_tokens
        if limit is None or all(len(query) + len(text) < limit // 2 for text in texts):
            return 0
        return sum(size > limit for size in self._model.count_pairs(query, texts))

    def metadata(self) -> Mapping[str, Any]:
        """Return name, build, digest, how pairs are read, and the runtime."""
        return {**self._files.metadata(*PACKAGES), **self._recipe.metadata()}


class StModel:
    """A model of sentence-transformers, loaded at the first text. One call runs at a time."""

    def __init__(
        self, kind: str, files: ModelFiles, recipe: StRecipe, resources: Resources
    ) -> None:
        self._kind = kind
        self._files = files
        self._recipe = recipe
        self._resources = resources
        self._lock = threading.RLock()  # its tokenizers refuse a second caller
        self._loaded: Any = None
        self._batch = 1

    @property
    def on_gpu(self) -> bool:
        """True if the model runs on another device than the CPU; it is loaded to find out."""
        with self._lock:
            self._loaded = self._loaded or self._load()
            return bool(self._loaded.device.type != "cpu")

    def count_pairs(self, query: str, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of the query with each text, including special tokens."""
        with self._lock:
            self._loaded = self._loaded or self._load()
            read = self._loaded.tokenizer([query] * len(texts), list(texts), truncation=False)
            return [len(ids) for ids in read["input_ids"]]

    def encode(self, method: str, texts: Sequence[str], prefix: str | None = None) -> Vectors:
        """Return one vector of unit length a text, as float32."""
        output = self.run(method, list(texts), prompt=prefix, normalize_embeddings=True)
        vectors = np.asarray(output, dtype=np.float32)
        if next(self._loaded.parameters()).itemsize < vectors.itemsize:  # of unit length roughly
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def run(self, method: str, inputs: list[Any], **keywords: Any) -> Any:
        """Return the result of the model's `method` on `inputs`, in batches that fit in memory."""
        with self._lock:
            on_gpu = self.on_gpu
            from torch import OutOfMemoryError

            work = partial(getattr(self._loaded, method), show_progress_bar=False, **keywords)
            while True:
                try:
                    return work(inputs, batch_size=self._batch)
                except OutOfMemoryError:
                    if not on_gpu or self._batch == 1:
                        raise AssayError(
                            f"model {self._files.name}: the GPU's memory does not hold a single"
                            " text; allowed: a smaller max_tokens, or dtype: float16"
                        ) from None
                    self._batch //= 2

    def _load(self) -> Any:
        quieten()
        self._resources.progress.say(f"loading model {self._files.name} ({self._files.build}) …")
        location = self._files.location()
        import sentence_transformers
        import torch

        torch.set_num_threads(self._resources.threads)
        dtype = self._recipe.dtype
        if dtype:
            location = {**location, "model_kwargs": {"dtype": getattr(torch, dtype)}}
        try:
            model = getattr(sentence_transformers, self._kind)(**location)
        except Exception as error:  # whatever its many libraries raise
            first = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise AssayError(
                f"model {self._files.name}: sentence-transformers cannot load it: {first}"
            ) from None
        if self._recipe.max_tokens is not None:
            model.max_seq_length = self._recipe.max_tokens
        if model.device.type != "cpu":
            half = next(model.parameters()).itemsize < 4
            self._batch = BATCH_OF_HALVES if half else BATCH
        return model  # on a CPU a batch saves no time, and alone an input's numbers are its own
