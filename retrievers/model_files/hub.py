"""Models of the hub, pinned to the commit that is current when a run begins."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.retrievers.base import AssayError

SECONDS = 10
ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True, slots=True)
class Commit:
    """The state of a hub model: `sha` names its every byte; `local` if the hub was not reached."""

    sha: str
    local: bool


def quieten() -> None:
    """Turn off telemetry and progress bars, and bound waiting. Call before libraries load."""
    for name, value in {
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DOWNLOAD_TIMEOUT": str(SECONDS),
        "HF_HUB_ETAG_TIMEOUT": str(SECONDS),
        "TOKENIZERS_PARALLELISM": "false",
    }.items():
        os.environ.setdefault(name, value)


def resolve(model: str) -> Commit:
    """Return the current commit of the hub model `model`, or else the one downloaded before.

    Raises AssayError when the hub does not know the model, or cannot be reached and no copy is
    here.
    """
    quieten()
    from huggingface_hub import model_info, snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError

    try:
        return Commit(str(model_info(model, timeout=SECONDS).sha), local=False)
    except RepositoryNotFoundError:
        reason = "the hub has no public model of that name"
    except Exception as error:  # the transport's errors differ between versions of the library
        reason = _explain(error)
    try:
        folder = snapshot_download(model, local_files_only=True)
    except LocalEntryNotFoundError:
        raise AssayError(
            f"model {model}: {reason} and no copy is here; take a pinned model"
            f" (`assay models list`) or a local folder"
        ) from None
    return Commit(Path(folder).name, local=True)


def fetch(model: str, commit: Commit, names: Sequence[str]) -> Path:
    """Return a folder with those files of `names` that the hub model `model` has at `commit`.

    Raises AssayError when they are not here and the hub cannot be reached.
    """
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(
            model, revision=commit.sha, local_files_only=commit.local, allow_patterns=list(names)
        )
    except Exception as error:  # as above
        raise AssayError(f"model {model}: {_explain(error)}") from None
    return Path(folder)


def _explain(error: Exception) -> str:
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"the hub cannot be reached ({first})"
