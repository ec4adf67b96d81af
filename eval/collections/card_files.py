"""Reading a card: by its format, with every key that is wrong named."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.eval.collections.card import Card
from assay.eval.collections.formats.registry import find_format, list_formats
from assay.retrievers.base import AssayError
from assay.retrievers.settings import validate
from assay.retrievers.settings.files import parse_mapping, read_text


def read_card(path: Path) -> Card:
    """Return the card in the file `path`. Raises AssayError, naming every key that is wrong."""
    return parse_card(read_text(path), path)


def parse_card(text: str, path: Path) -> Card:
    """Return the card that `text` holds; `path` is where it lies or will lie."""
    return make_card(parse_mapping(text, str(path)), path)


def make_card(values: Mapping[str, Any], path: Path | None) -> Card:
    """Return the card of `values`. Raises AssayError, naming every key that is wrong."""
    name = str(values.get("format"))
    if name not in list_formats():
        raise AssayError(f"{path}: format: must be one of {', '.join(list_formats())}")
    card = validate(find_format(name).card_class, values, str(path))
    card._path = path
    return card
