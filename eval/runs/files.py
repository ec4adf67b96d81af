"""Files of results, each written in one piece."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.retrievers.store.files import write_atomically


def encode_json(value: Any) -> bytes:
    """Return JSON values as a file that people can read too."""
    return f"{json.dumps(value, ensure_ascii=False, indent=1)}\n".encode()


def write_together(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files by their names into `folder`, which is made; return their paths.

    Raises AssayError when they cannot be written.
    """
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return [folder / name for name in contents]
