"""The installation of this Assay: its version, and the commands that install more."""

import shlex
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from assay.retrievers.base import AssayError

DISTRIBUTION = "retrieval-assay"
_ROOT = Path(__file__).resolve().parents[2]


def find_checkout() -> Path | None:
    """Return the root of the checkout with this code; None if it was installed."""
    marks = ("pyproject.toml", "Makefile", "scripts/install.sh")
    return _ROOT if all((_ROOT / name).is_file() for name in marks) else None


def find_version() -> str:
    """Return the version: in a checkout that of `pyproject.toml`, else that of the distribution."""
    if root := find_checkout():
        import tomllib

        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return str(project["version"])
    return read_version(DISTRIBUTION)


@cache
def read_version(package: str) -> str:
    """Return the version of an installed package, whose metadata take milliseconds to parse.

    Raises PackageNotFoundError if there is none.
    """
    from importlib import metadata

    return metadata.version(package)


def hint_extra(extra: str) -> str:
    """Return the message that an extra is needed, with the command that adds it.

    Every hint at an extra is written here.
    """
    if root := find_checkout():
        there = "" if root == Path.cwd() else f" -C {shlex.quote(str(root))}"
        command = f"make{there} extra NAME={extra}"
    else:
        command = f"pip install '{DISTRIBUTION}[{extra}]'"
    return f"needs the extra `{extra}`: {command}"


def has_pandas() -> bool:
    """Return True if pandas is installed."""
    return find_spec("pandas") is not None


def need_pandas() -> None:
    """Raise AssayError if pandas, which DataFrames need, is not installed."""
    if not has_pandas():
        raise AssayError(f"a DataFrame {hint_extra('pandas')}")
