"""Models on ONNX Runtime: one text or one pair at a time, several of them side by side."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.retrievers.base import AssayError
from assay.retrievers.base.threads import ThreadPool
from assay.retrievers.model_files.files import ModelFiles
from assay.retrievers.model_files.recipes import Recipe
from assay.retrievers.models import fused_bert
from assay.retrievers.models.base import CrossEncoder, Encoder, Vectors
from assay.retrievers.models.tokens import encode, read_tokenizer, read_whole_tokenizer
from assay.retrievers.store.digest import digest

REVISION = 1  # raise it when the code below comes to give other vectors or scores

# On processors this one operation takes longer than the two that it stands for.
SLOW_FUSIONS = ["SkipLayerNormFusion"]

COUNTED = 1 << 14  # texts whose tokens are remembered

Result = TypeVar("Result")


class OnnxEncoder(Encoder):
    """Encodes with an ONNX model of a transformer, pooled here unless its output is.

    With `fused` a model whose files allow it runs as a fused graph.
    """

    def __init__(
        self, files: ModelFiles, recipe: Recipe, threads: int, fused: bool = False
    ) -> None:
        self._files = files
        self._recipe = recipe
        self._threads = threads
        graph = choose_graph(files, fused, first_only=recipe.pooling == "cls")
        self._model = OnnxModel(files, recipe.max_tokens, graph)

    @property
    def identity(self) -> str:
        """The digest of files, graph, pooling, the passages' prefix and the tokens read."""
        recipe = self._recipe
        kept = [recipe.pooling, recipe.passage_prefix, recipe.max_tokens]
        return digest("onnx encoder", REVISION, self._files.digest, *kept, *self._model.changes)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, on as many threads as the resources allows."""
        prefixed = [self._recipe.passage_prefix + text for text in texts]
        return np.stack(map_texts(self._encode, prefixed, self._threads))

    def encode_query(self, text: str) -> Vectors:
        """Return the query's vector, computed on the calling thread."""
        return self._encode(self._recipe.query_prefix + text)

    def metadata(self) -> Mapping[str, Any]:
        """Return name, build, digest, how texts are read, and the runtime."""
        recipe = self._recipe
        return {
            **self._files.metadata("onnxruntime"),
            "graph": self._model.graph,
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
    """Scores pairs with an ONNX model of one logit. A passage that is too long loses its end.

    With `fused` a model whose files allow it runs as a fused graph.
    """

    def __init__(
        self, files: ModelFiles, recipe: Recipe, threads: int, fused: bool = False
    ) -> None:
        self._files = files
        self._recipe = recipe
        self._threads = threads
        graph = choose_graph(files, fused, first_only=True)
        self._model = OnnxModel(files, recipe.max_tokens, graph)

    @property
    def identity(self) -> str:
        """The digest of the files, the graph and the tokens read."""
        kept = [self._recipe.max_tokens, *self._model.changes]
        return digest("onnx cross-encoder", REVISION, self._files.digest, *kept)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one logit per text, on as many threads as the resources allows."""
        return map_texts(lambda text: self._score(query, text), texts, self._threads)

    def count_cut(self, query: str, texts: Sequence[str]) -> int:
        """Return the number of texts that are too long to be read whole with `query`."""
        if all(len(query) + len(text) < self._recipe.max_tokens // 2 for text in texts):
            return 0  # a token may be less than a character, but is seldom so
        return sum(self._count(query, text) > self._recipe.max_tokens for text in texts)

    def metadata(self) -> Mapping[str, Any]:
        """Return name, build, digest, how pairs are read, and the runtime."""
        return {
            **self._files.metadata("onnxruntime"),
            "graph": self._model.graph,
            "max_tokens": self._recipe.max_tokens,
        }

    def _count(self, query: str, text: str) -> int:
        """Return the tokens of a pair, those of each text counted once."""
        special: int = self._reader.num_special_tokens_to_add(True)
        return special + self._length(query) + self._length(text)

    @cached_property
    def _reader(self) -> Any:
        return read_whole_tokenizer(self._files.location()["tokenizer"])

    @cached_property
    def _length(self) -> Callable[[str], int]:
        reader = self._reader
        return lru_cache(maxsize=COUNTED)(
            lambda text: len(encode(reader, text, add_special_tokens=False).ids)
        )

    def _score(self, query: str, text: str) -> float:
        output = self._model.run(query, text).reshape(-1)
        if len(output) != 1:
            raise AssayError(
                f"model {self._files.name}: gives {len(output)} numbers a pair; a cross-encoder"
                f" that ranks gives one"
            )
        return float(output[0])


@dataclass(frozen=True, slots=True)
class WrittenGraph:
    """A graph that is written from a model's weights, in the bytes of an ONNX file.

    `revision` is raised when it comes to give other numbers.
    """

    name: str
    revision: int
    write: Callable[[Path], bytes]


def choose_graph(files: ModelFiles, fused: bool, *, first_only: bool) -> WrittenGraph | None:
    """Return the fused graph of a model that has one, if `fused` wants it; else None.

    With `first_only` only the first token's vector comes out.
    """
    if not (fused and files.heads):
        return None
    write = partial(fused_bert.fuse, heads=files.heads, first_only=first_only)
    return WrittenGraph("fused", fused_bert.REVISION, write)


class OnnxModel:
    """A session and its tokenizer, loaded at the first text. Safe to use from threads.

    It runs the file's own graph, unless a `graph` is written from its weights. `changes` are the
    extra parts of an identity: none for the file's own graph.
    """

    def __init__(self, files: ModelFiles, max_tokens: int, graph: WrittenGraph | None) -> None:
        self.graph = graph.name if graph else "as given"
        self.changes = [graph.name, graph.revision] if graph else []
        self._files = files
        self._max_tokens = max_tokens
        self._write = graph.write if graph else None
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any, frozenset[str]] | None = None

    def run(self, text: str, pair: str | None = None) -> NDArray[np.float32]:
        """Return the model's first output for one text or pair, without the batch axis.

        The batch is always 1: dynamic quantisation takes its scale from the whole batch, so that
        a text's numbers would depend on its neighbours; and nothing is spent on padding.
        """
        session, tokenizer, inputs = self._load()
        encoding = encode(tokenizer, text, pair)
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
                    self._loaded = self._open(**self._files.location())
        return self._loaded

    def _open(self, model: Path, tokenizer: Path) -> tuple[Any, Any, frozenset[str]]:
        return _open_session(model, self._write, tokenizer, self._max_tokens)


def _open_session(
    model: Path, write: Callable[[Path], bytes] | None, tokenizer: Path, max_tokens: int
) -> tuple[Any, Any, frozenset[str]]:
    """Return the session of the file `model`, or of the graph that `write` makes of it, the
    tokenizer, and the names of the inputs that the model takes.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # read when onnxruntime is imported
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # texts side by side are faster than one text split up
    options.log_severity_level = 3
    try:
        content = write(model) if write else str(model)
        session = onnxruntime.InferenceSession(
            content,
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=SLOW_FUSIONS if write else [],
        )
    except Exception as error:  # the library has no exception class of its own for this
        first = str(error).partition("\n")[0] or type(error).__name__
        raise AssayError(
            f"{model}: cannot be loaded: {first}; if it is damaged, copy it again, or delete "
            f"{model.parent} where that lies in the cache: it is fetched anew"
        ) from None
    reader = read_tokenizer(tokenizer)
    # Files of tokenizers come with a truncation and padding of their publisher's.
    reader.no_padding()
    reader.enable_truncation(max_tokens, strategy="longest_first")
    inputs = frozenset(item.name for item in session.get_inputs())
    if other := inputs - {"input_ids", "attention_mask", "token_type_ids"}:
        raise AssayError(f"{model}: wants an input that is not known here: {min(other)}")
    return session, reader, inputs


def map_texts(work: Callable[[str], Result], texts: Sequence[str], threads: int) -> list[Result]:
    """Return the result of `work` on each text; the longest texts begin."""
    if threads == 1 or len(texts) == 1:
        return [work(text) for text in texts]
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    with ThreadPool(threads) as pool:
        done = dict(zip(order, pool.map(work, [texts[i] for i in order]), strict=True))
    return [done[i] for i in range(len(texts))]
