"""YAML files of configs, cards and the settings of commands."""

from pathlib import Path
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.base.bounds import SETTINGS, open_bounded
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.base.yaml_text import parse_yaml
from assay.retrievers.settings.trust import check_values
from assay.retrievers.store.paths import parse_path


def read_mapping(path: Path, *, config: bool = False) -> dict[str, Any]:
    """Return the mapping in a YAML file. Raises AssayError naming the file and the line.

    Also raises if it is untrusted and asks for something that needs trust. `config` is as for
    `read_text`.
    """
    values = parse_mapping(read_text(path, config=config), str(path))
    check_values(path, values)
    return values


def parse_mapping(text: str, source: str) -> dict[str, Any]:
    """Return the mapping that YAML `text` holds. Raises AssayError naming `source` and line."""
    values = parse_yaml(text, source)
    if not isinstance(values, dict):
        raise AssayError(f"{source}: must be a mapping of keys to values")
    return values


def read_text(path: Path, *, config: bool = False) -> str:
    """Return the text of a YAML file, in UTF-8. Raises AssayError naming the file and the line.

    If the file does not exist and should be a `config`, the error lists the configs in its folder.
    """
    try:
        with open_bounded(parse_path(path, "file"), SETTINGS) as file:
            content = file.read()
    except FileNotFoundError:
        names = sorted(str(other) for other in path.parent.glob("*.yaml"))
        near = suggest(str(path), names)
        if not config:
            raise AssayError(f"{path}: no such file{near}") from None
        listed = ", ".join(names) or "none"
        raise AssayError(f"{path}: no such config; there are: {listed}{near}") from None
    except OSError as error:
        raise AssayError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise AssayError(f"{path}: line {line}: not UTF-8: {error.reason}") from None
