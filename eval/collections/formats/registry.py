"""The formats a card can name: those that come with the project, then those of packages."""

from typing import Any

from assay.eval.collections.card import Card
from assay.eval.collections.formats.beir import BeirSource
from assay.eval.collections.formats.irds import IrdsSource
from assay.eval.collections.formats.native import NativeSource
from assay.eval.collections.formats.source import Source
from assay.retrievers.base import AssayError
from assay.retrievers.settings.plugins import find_parts, load_part

GROUP = "assay.collection_formats"
FORMATS: dict[str, type[Source[Any]]] = {
    "beir": BeirSource,
    "irds": IrdsSource,
    "native": NativeSource,
}


def list_formats() -> list[str]:
    """Return the names of all formats."""
    return list(dict.fromkeys([*FORMATS, *find_parts(GROUP)]))


def find_format(name: str) -> type[Source[Any]]:
    """Return the reader of a format. Raises AssayError where a package's is none."""
    if name in FORMATS:
        return FORMATS[name]
    source = load_part(GROUP, name, Source)
    card = getattr(source, "card_class", None)
    if not (isinstance(card, type) and issubclass(card, Card)):
        raise AssayError(f"{GROUP}: {name}: `card_class` must be a subclass of Card")
    return source
