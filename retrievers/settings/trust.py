"""What a file may ask for: one from elsewhere names no code, and no place outside its folder.

A file is trusted where it lies below the working folder or in the project; every file is with
ASSAY_TRUST=1, which `--trust` sets.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from retrievers.base import AssayError

VARIABLE = "ASSAY_TRUST"
NAMING_CODE = frozenset(
    {"python", "command", "langchain", "llamaindex", "haystack"}
)  # values of `type`
PROJECT = Path(__file__).resolve().parents[2]
WAY_OUT = f"--trust (or {VARIABLE}=1) allows it"


def is_trusted(path: Path) -> bool:
    """Whether the file at `path` may name code."""
    place = path.resolve()
    return trusts_all() or any(place.is_relative_to(home) for home in _homes())


def trusts_all() -> bool:
    """Whether the user said that every file is trusted."""
    return os.environ.get(VARIABLE) == "1"


def check_code(path: Path, values: Any) -> None:
    """Raise AssayError where `values`, read from `path`, name code and it is not trusted."""
    key = next(_find_python(values), None)
    if key is not None and not is_trusted(path):
        raise AssayError(
            f"{path}: {key}: names code to run, and the file lies outside {Path.cwd()}; {WAY_OUT}"
        )


def may_name(place: Path, home: Path, file: Path) -> bool:
    """Whether `file` may name `place`: it lies in `home`, links followed.

    What a trusted file names may also lie anywhere below the working folder or in the project.
    """
    allowed = [home.resolve(), *(_homes() if is_trusted(file) else ())]
    return trusts_all() or any(place.resolve().is_relative_to(root) for root in allowed)


def check_place(place: Path, home: Path, file: Path) -> None:
    """Raise AssayError where `file` may not name `place`: see `may_name`."""
    if not may_name(place, home, file):
        raise AssayError(f"{file}: names {place}, which lies outside {home}; {WAY_OUT}")


def _homes() -> tuple[Path, Path]:
    return Path.cwd().resolve(), PROJECT


def _find_python(values: Any, key: str = "") -> Iterator[str]:
    """Yield the keys below which `values` have, or may be given, a type that names code."""
    if isinstance(values, Mapping):
        for name, value in values.items():
            inner = f"{key}.{name}" if key else str(name)
            wanted = value if isinstance(value, list) else [value]
            if name.rpartition(".")[2] == "type" and any(
                isinstance(item, str) and item in NAMING_CODE for item in wanted
            ):
                yield inner
            yield from _find_python(value, inner)
    elif isinstance(values, list):
        for number, value in enumerate(values):
            yield from _find_python(value, f"{key}.{number}")
