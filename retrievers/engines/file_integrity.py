"""Seals on the cached folders of engines, which may crash on files that are not whole."""

import json
from pathlib import Path

from assay.retrievers.base import AssayError

SEAL = "seal.json"


def seal(folder: Path) -> None:
    """Write down the size of each file below `folder`."""
    (folder / SEAL).write_text(json.dumps(_measure_files(folder)))


def check_seal(folder: Path) -> None:
    """Raise AssayError where a file is gone or of another size."""
    sizes = _measure_files(folder)
    for name, size in json.loads((folder / SEAL).read_text()).items():
        if sizes.get(name) != size:
            raise AssayError(f"{folder / name}: the file is not as it was written")


def _measure_files(folder: Path) -> dict[str, int]:
    """Return the bytes of each file below `folder`, by its path from there."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
