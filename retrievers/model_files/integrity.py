"""Whether the files of a pinned model are those that were pinned, read once and then remembered."""

import json
from contextlib import suppress
from pathlib import Path

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.packages import PinnedModel
from assay.retrievers.store.digest import digest_file
from assay.retrievers.store.files import write_atomically

# Beside the files. Hidden, since it tells of this machine, and no digest of a folder is to hold it.
VERIFIED = ".verified.json"

Stamps = dict[str, list[int]]  # bytes, nanoseconds of the last change and inode of each file


def find_damage(model: PinnedModel, folder: Path) -> str:
    """Return in a clause which file in `folder` is not the pinned one; "" where all are.

    The bytes of a file are read where it is first seen, or has changed since. That is remembered
    where the folder can be written.
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
