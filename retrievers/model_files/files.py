"""Sources of a model's files: the pins, a local folder, or the hub. Nothing loads early."""

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import hint_extra, read_version
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.model_files import hub
from assay.retrievers.model_files.packages import Kind, PinnedModel
from assay.retrievers.model_files.pins import find_pinned, pinned_names
from assay.retrievers.model_files.recipes import LIMITS, Recipe, read_limits, read_recipe
from assay.retrievers.model_files.wheels import fetch
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest, digest_file
from assay.retrievers.store.paths import parse_path


class ModelFiles(ABC):
    """The files of one model. `backend` runs them; `name` and `build` are for people.

    `heads` are the attention heads of a model whose graph is written here, else 0.
    """

    backend: str
    name: str
    build: str
    heads = 0

    @property
    @abstractmethod
    def digest(self) -> str:
        """The digest of the weights and the tokenizer, without fetching a pinned model."""

    @property
    @abstractmethod
    def recipe(self) -> Recipe:
        """The input format that the model expects; the defaults if its backend knows better."""

    @property
    @abstractmethod
    def max_tokens(self) -> int | None:
        """The number of tokens of a text that the model reads by default; None if not stated."""

    def metadata(self, *packages: str) -> dict[str, Any]:
        """Return what identifies the model, and the versions of the `packages` that run it."""
        return {
            "model": self.name,
            "build": self.build,
            "backend": self.backend,
            "digest": self.digest,
            "runtime": ", ".join(f"{name} {read_version(name)}" for name in packages),
        }

    @abstractmethod
    def location(self) -> Mapping[str, Any]:
        """Return the keyword arguments for the backend to load the model; fetch it if needed.

        They are `model` and `tokenizer` (paths) for ONNX, and those of SentenceTransformer's
        constructor for sentence-transformers.
        """


class PinnedFiles(ModelFiles):
    """A pinned model, fetched when it is first used."""

    def __init__(self, pin: PinnedModel, resources: Resources) -> None:
        self._pin = pin
        self._resources = resources
        self.backend, self.name, self.build = pin.backend, pin.name, pin.build
        self.heads = pin.heads

    @property
    def digest(self) -> str:
        """The digest of the pinned digests."""
        return digest(self._pin.digests)

    @property
    def recipe(self) -> Recipe:
        """The input format in the pin."""
        pin = self._pin
        return Recipe(pin.pooling, pin.query_prefix, "", pin.max_tokens, pin.positions)

    @property
    def max_tokens(self) -> int:
        """The number of tokens in the pin."""
        return self._pin.max_tokens

    def location(self) -> Mapping[str, Any]:
        """Within the cached folder."""
        folder = fetch(self._pin, self._resources).path
        weights = folder / self._pin.files[0].name
        return _location(folder, weights if self.backend == "onnx" else None)


class LocalFiles(ModelFiles):
    """A model in a folder of the user's; `onnx` is its ONNX file if that is what runs."""

    def __init__(self, name: str, folder: Path, onnx: Path | None) -> None:
        self._folder = folder
        self._onnx = onnx
        self.backend = "onnx" if onnx else "st"
        self.name, self.build = name, f"local folder, {self.backend}"

    @cached_property
    def digest(self) -> str:
        """The digest of every file the backend may read."""
        if self._onnx:  # weights over 2 GB are stored next to it, in files of a similar name
            files = [
                *self._onnx.parent.glob(f"{self._onnx.name}*"),
                self._folder / "tokenizer.json",
            ]
        else:
            files = [path for path in self._folder.rglob("*") if path.is_file()]
        names = {file.relative_to(self._folder).as_posix(): file for file in files}
        visible = {name: file for name, file in names.items() if "/." not in f"/{name}"}
        return digest({name: digest_file(file) for name, file in visible.items()})

    @cached_property
    def recipe(self) -> Recipe:
        """The input format in the folder's configuration files."""
        return read_recipe(self._folder) if self._onnx else Recipe()

    @property
    def max_tokens(self) -> int | None:
        """The number of tokens in the folder's configuration files."""
        return read_limits(self._folder)[0]

    def location(self) -> Mapping[str, Any]:
        """Within the folder."""
        return _location(self._folder, self._onnx)


class HubFiles(ModelFiles):
    """A model of the hub, read by sentence-transformers."""

    backend = "st"

    def __init__(self, name: str) -> None:
        self.name, self.build = name, "model hub, st"

    @cached_property
    def _commit(self) -> hub.Commit:
        return hub.resolve(self.name)

    @property
    def digest(self) -> str:
        """The commit, which is itself a digest of all files."""
        return self._commit.sha

    @property
    def recipe(self) -> Recipe:
        """Left to sentence-transformers."""
        return Recipe()

    @cached_property
    def max_tokens(self) -> int | None:
        """The number of tokens in the configuration files at the commit; only these are fetched."""
        return read_limits(hub.fetch(self.name, self._commit, LIMITS))[0]

    def location(self) -> Mapping[str, Any]:
        """The id at the commit."""
        commit = self._commit
        return {
            "model_name_or_path": self.name,
            "revision": commit.sha,
            "local_files_only": commit.local,
        }


def locate(name: str, backend: str, kind: Kind, resources: Resources) -> ModelFiles:
    """Return the files of the model that a config calls `name`, for `backend` or `auto`.

    A pinned name comes first, then a folder, then a hub id. Raises AssayError when it is none of
    them, or when the backend or its extra is missing.
    """
    if pin := find_pinned(name, kind, backend):
        files: ModelFiles = PinnedFiles(pin, resources)
    elif upstream := find_pinned(name, kind):
        files = HubFiles(upstream.upstream)
    elif (folder := parse_path(name, "model")).is_dir():
        files = _local_files(name, folder, backend)
    elif hub.ID.fullmatch(name):
        files = HubFiles(name)
    else:
        raise AssayError(
            f"model {name}: unknown; allowed: {pinned_names(kind)}, an existing folder,"
            f" or a hub id (owner/name){suggest(name, pinned_names(kind).split(', '))}"
        )
    if backend == "onnx" and files.backend != "onnx":
        raise AssayError(
            f"model {name}: the backend onnx takes {pinned_names(kind)}, or a folder with"
            f" model.onnx (or onnx/model.onnx) and tokenizer.json"
        )
    if files.backend == "st" and not importlib.util.find_spec("sentence_transformers"):
        raise AssayError(
            f"model {name}: {hint_extra('st')} (a CPU build of torch"
            f" first, where there is no GPU); without it: {pinned_names(kind)}"
        )
    return files


def _local_files(name: str, folder: Path, backend: str) -> LocalFiles:
    candidates = (folder / "model.onnx", folder / "onnx" / "model.onnx")
    onnx = next((path for path in candidates if path.exists()), None)
    if backend == "st" or not (folder / "tokenizer.json").exists():
        onnx = None
    return LocalFiles(name, folder, onnx)


def _location(folder: Path, onnx: Path | None) -> Mapping[str, Any]:
    if onnx:
        return {"model": onnx, "tokenizer": folder / "tokenizer.json"}
    return {"model_name_or_path": str(folder)}
