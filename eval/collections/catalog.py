"""Finding collections: by name, by folder, or by an id of ir_datasets; and reading their cards."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.eval.collections.card import FILE, NAME, Card
from assay.eval.collections.formats.irds import PREFIX
from assay.eval.collections.formats.reading import find_suffix
from assay.eval.collections.formats.registry import find_format, list_formats
from assay.eval.collections.parts import PARTS
from assay.eval.shipped import find_shipped
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.settings import validate
from assay.retrievers.settings.files import parse_mapping, read_text
from assay.retrievers.store.paths import parse_path


def dataset_folders() -> list[Path]:
    """Return the folders in which names are looked up: ./datasets, then Assay's own."""
    folders = (Path("datasets").absolute(), find_shipped("datasets"))
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def list_cards() -> dict[str, Path]:
    """Return the card file of every name there is, by name."""
    found: dict[str, Path] = {}
    for folder in dataset_folders():
        for path in sorted(folder.glob(f"*/{FILE}")):
            found.setdefault(path.parent.name, path)
    return dict(sorted(found.items()))


def find_card(name: str) -> Card:
    """Return the card of a collection.

    `name` is a folder's name below a datasets folder, a path to a folder with a card or in BEIR's
    layout, or `irds:` and an id. Raises AssayError, listing the names there are.
    """
    if name.startswith(PREFIX):
        return _make_irds_card(name)
    named = list_cards()
    if name in named:
        return read_card(named[name])
    folder = parse_path(name, "collection")
    if folder.name == FILE and folder.is_file():
        return read_card(folder)
    if (folder / FILE).is_file():
        return read_card(folder / FILE)
    if is_collection(folder):
        return _make_beir_card(folder)
    if os.sep in name and folder.is_dir():
        raise AssayError(f"{folder}: holds no {FILE}; `assay init` makes one of a folder")
    raise AssayError(
        f"{name}: there is no such collection; there are: {', '.join(named) or 'none'}; "
        f"or give a folder that holds {FILE}, or {PREFIX}ID{suggest(name, named)}"
    )


def is_collection(folder: Path) -> bool:
    """Return True if a folder holds a card, or a corpus in BEIR's layout."""
    return any((folder / name).is_file() for name in (FILE, "corpus.jsonl", "corpus.jsonl.gz"))


def find(reference: str) -> tuple[Card, str]:
    """Return the card and the variant of the judgments that `name` or `name:variant` means."""
    name, colon, variant = reference.rpartition(":")
    if not colon or name == PREFIX.rstrip(":") or not re.fullmatch(NAME, variant):
        card = find_card(reference)
        return card, card.variants[0]
    card = find_card(name)
    if variant not in (*card.variants, *PARTS):
        allowed = ", ".join((*card.variants, *PARTS))
        near = suggest(variant, card.variants)
        raise AssayError(
            f"{reference}: there are no judgments {variant!r}; allowed: {allowed}{near}"
        )
    return card, variant


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


def _make_irds_card(location: str) -> Card:
    identifier = location.removeprefix(PREFIX)
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", identifier)
    values = {"name": name, "title": identifier, "format": "irds", "location": location}
    return make_card(values, None)


def _make_beir_card(folder: Path) -> Card:
    """Return a card for a BEIR folder without one, whose files may be packed (.gz): `test`, if
    there is one, comes first.
    """
    files = [path for path in (folder / "qrels").glob("*.tsv*") if find_suffix(path) == ".tsv"]
    qrels = {path.name.partition(".tsv")[0]: f"qrels/{path.name}" for path in sorted(files)}
    values = {
        "name": folder.resolve().name,
        "title": folder.resolve().name,
        "format": "beir",
        "location": str(folder.resolve()),
        "judgments": dict(sorted(qrels.items(), key=lambda item: item[0] != "test")),
    }
    for key, stem in (("documents", "corpus"), ("queries", "queries"), ("contexts", "contexts")):
        names = (f"{stem}.jsonl", f"{stem}.jsonl.gz")
        if found := next((name for name in names if (folder / name).is_file()), None):
            values[key] = found
    return make_card(values, None)
