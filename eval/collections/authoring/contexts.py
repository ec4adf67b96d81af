"""The file of a collection's contexts, and the form in which its format reads them."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from assay.eval.collections.card import Card
from assay.eval.collections.formats.registry import FORMATS
from assay.eval.collections.formats.rows import render_rows
from assay.eval.collections.loading import open_source
from assay.eval.collections.location import find_data
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, Chunk, Document

FILE = "contexts.jsonl"


def read_documents(card: Card) -> list[Document]:
    """Return the documents without contexts, which need not be there yet.

    Raises AssayError when the format has no place for contexts, or a line is broken.
    """
    if not card.contexts_of:
        allowed = ", ".join(name for name, kind in FORMATS.items() if kind.card_class.contexts_of)
        raise AssayError(
            f"collection {card.name}: the format {card.format} has no contexts; allowed: {allowed}"
        )
    bare = card.model_copy(update={"contexts": None})
    return list(open_source(bare, Problems(strict=True)).documents().values())


def find_place(card: Card) -> Path:
    """Return the default file of contexts: in the folder of the data, named as in the card.

    Raises AssayError if that folder is not writable.
    """
    folder = find_data(card)
    if not os.access(folder, os.W_OK):
        raise AssayError(f"collection {card.name}: {folder} is not for writing; give --output FILE")
    return folder / (card.contexts_file or FILE)


def is_read_from(card: Card, path: Path) -> bool:
    """Return True if loading the collection reads the contexts at `path`."""
    # A folder without a card is read with the contexts that lie in it.
    name = card.contexts_file if card.path else FILE
    return name is not None and (find_data(card) / name).resolve() == path.resolve()


def render(card: Card, chunks: Iterable[Chunk], texts: Mapping[str, str]) -> str:
    """Return the lines of contexts.jsonl: a row for each of `chunks` whose id is in `texts`."""
    source = open_source(card, Problems(strict=True))
    kept = (item for item in chunks if item.id in texts)
    return render_rows(source.render_context(item, texts[item.id]) for item in kept)
