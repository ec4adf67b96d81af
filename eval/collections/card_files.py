"""Reading a card: by its format, with every key that is wrong named."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from eval.collections.card import Card
from eval.collections.formats.registry import find_format, list_formats
from retrievers.base import AssayError


def read_card(path: Path) -> Card:
    """Return the card in the file `path`. Raises AssayError, naming every key that is wrong."""
    try:
        return parse_card(path.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{path}: cannot be read: {error}") from None


def parse_card(text: str, path: Path) -> Card:
    """Return the card that `text` holds; `path` is where it lies or will lie."""
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise AssayError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise AssayError(f"{path}: a card must be a mapping of keys to values")
    return make_card(values, path)


def make_card(values: Mapping[str, Any], path: Path | None) -> Card:
    """Return the card of `values`. Raises AssayError, naming every key that is wrong."""
    name = str(values.get("format"))
    if name not in list_formats():
        raise AssayError(f"{path}: format: must be one of {', '.join(list_formats())}")
    kind = find_format(name).card_class
    try:
        card = kind.model_validate(values)
    except ValidationError as error:
        raise AssayError(f"{path}: {_explain(error, kind)}") from None
    card._path = path
    return card


def _explain(error: ValidationError, kind: type[Card]) -> str:
    parts = []
    for item in error.errors():
        # The names of a union's members, which pydantic puts in, say nothing to a reader.
        keys = [str(key) for key in item["loc"] if key not in ("str", "Download", "list[str]")]
        message = item["msg"]
        if item["type"] == "extra_forbidden" and len(keys) == 1:
            message = f"unknown key; allowed: {', '.join(kind.model_fields)}"
        parts.append(f"{'.'.join(keys)}: {message}")
    return "; ".join(dict.fromkeys(parts))
