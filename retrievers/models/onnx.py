"""Models on ONNX Runtime: one text or one pair at a time, several of them side by side."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from retrievers.base import AssayError
from retrievers.models.base import CrossEncoder, Encoder, Vectors
from retrievers.models.files import ModelFiles
from retrievers.models.recipes import Recipe
from retrievers.store.digest import digest

REVISION = 1  # raise it when the code below comes to give other vectors or scores

Item = TypeVar("Item")
Result = TypeVar("Result")


class OnnxEncoder(Encoder):
    """Encodes with an ONNX model of a transformer, pooled here unless its output is."""

    def __init__(self, files: ModelFiles, recipe: Recipe, threads: int) -> None:
        self._files = files
        self._recipe = recipe
        self._threads = threads
        self._model = _OnnxModel(files, recipe.max_tokens)

    @property
    def identity(self) -> str:
        """Digest of the files, the pooling, the passages' prefix and the tokens read."""
        recipe = self._recipe
        kept = [recipe.pooling, recipe.passage_prefix, recipe.max_tokens]
        return digest("onnx encoder", REVISION, self._files.digest, *kept)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text, on as many threads as the workshop allows."""
        prefixed = [self._recipe.passage_prefix + text for text in texts]
        return np.stack(_map(self._encode, prefixed, self._threads))

    def encode_query(self, text: str) -> Vectors:
        """Return the query's vector, computed on the calling thread."""
        return self._encode(self._recipe.query_prefix + text)

    def facts(self) -> Mapping[str, Any]:
        """Name, build, digest, how texts are read, and the runtime."""
        recipe = self._recipe
        return {
            **self._files.facts("onnxruntime"),
            "pooling": recipe.pooling,
            "query_prefix": recipe.query_prefix,
            "passage_prefix": recipe.passage_prefix,
            "max_tokens": recipe.max_tokens,
        }

    def _encode(self, text: str) -> Vectors:
        output = self._model.run(text)
        if output.ndim == 2:  # one vector a token; without padding all of them count
            output = output[0] if self._recipe.pooling == "cls" else output.mean(axis=0)
        vector: Vectors = (output / max(float(np.linalg.norm(output)), 1e-12)).astype(np.float32)
        return vector


class OnnxCrossEncoder(CrossEncoder):
    """Scores pairs with an ONNX model of one logit. What is too long is cut from the passage."""

    def __init__(self, files: ModelFiles, recipe: Recipe, threads: int) -> None:
        self._files = files
        self._recipe = recipe
        self._threads = threads
        self._model = _OnnxModel(files, recipe.max_tokens)

    @property
    def identity(self) -> str:
        """Digest of the files and the tokens read."""
        return digest("onnx cross-encoder", REVISION, self._files.digest, self._recipe.max_tokens)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one logit a text, on as many threads as the workshop allows."""
        return _map(lambda text: self._score(query, text), texts, self._threads)

    def facts(self) -> Mapping[str, Any]:
        """Name, build, digest, how pairs are read, and the runtime."""
        return {**self._files.facts("onnxruntime"), "max_tokens": self._recipe.max_tokens}

    def _score(self, query: str, text: str) -> float:
        output = self._model.run(query, text).reshape(-1)
        if len(output) != 1:
            raise AssayError(
                f"model {self._files.name}: gives {len(output)} numbers a pair; a cross-encoder"
                f" that ranks gives one"
            )
        return float(output[0])


class _OnnxModel:
    """A session and its tokenizer, loaded at the first text. Safe to use from threads."""

    def __init__(self, files: ModelFiles, max_tokens: int) -> None:
        self._files = files
        self._max_tokens = max_tokens
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any, frozenset[str]] | None = None

    def run(self, text: str, pair: str | None = None) -> NDArray[np.float32]:
        """Return the model's first output for one text or pair, without the batch axis.

        The batch is always 1: dynamic quantisation takes its scale from the whole batch, so that
        a text's numbers would depend on its neighbours; and nothing is spent on padding.
        """
        session, tokenizer, inputs = self._load()
        encoding = tokenizer.encode(text, pair)
        values = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feed = {name: np.array([values[name]], dtype=np.int64) for name in inputs}
        output: NDArray[np.float32] = session.run(None, feed)[0][0]
        return output

    def _load(self) -> tuple[Any, Any, frozenset[str]]:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = _open(self._max_tokens, **self._files.location())
        return self._loaded


def _open(max_tokens: int, model: Path, tokenizer: Path) -> tuple[Any, Any, frozenset[str]]:
    """Return the session, the tokenizer, and the names of the inputs the model takes."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # read when onnxruntime is imported
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # texts side by side are faster than one text split up
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        reader = Tokenizer.from_file(str(tokenizer))
    except Exception as error:  # neither library has an exception class of its own for this
        first = str(error).splitlines()[0]
        raise AssayError(f"{model.parent}: cannot be loaded: {first}") from None
    # Files of tokenizers come with a truncation and padding of their publisher's.
    reader.no_padding()
    reader.enable_truncation(max_tokens, strategy="longest_first")
    inputs = frozenset(item.name for item in session.get_inputs())
    if other := inputs - {"input_ids", "attention_mask", "token_type_ids"}:
        raise AssayError(f"{model}: wants an input that is not known here: {min(other)}")
    return session, reader, inputs


def _map(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    if threads == 1 or len(items) == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))
