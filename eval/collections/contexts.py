"""Where the contexts of a collection lie, and the form in which its format reads them."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from eval.collections.card import BeirCard, Card, Download, NativeCard
from eval.collections.formats.beir import BeirSource
from eval.collections.formats.native import NativeSource
from eval.collections.location import find_data
from eval.collections.problems import Problems
from retrievers.base import AssayError, Chunk, Document

FILE = "contexts.jsonl"


def read_documents(card: Card) -> list[Document]:
    """Return the documents without contexts, which need not be there yet.

    Raises AssayError when the format has no place for contexts, or a line is broken.
    """
    problems = Problems(strict=True)
    if isinstance(card, BeirCard):
        beir = card.model_copy(update={"contexts": None})
        return list(BeirSource(beir, find_data(card), problems).documents().values())
    if isinstance(card, NativeCard):
        native = card.model_copy(update={"contexts": None})
        return list(NativeSource(native, find_data(card), problems).documents().values())
    raise AssayError(
        f"collection {card.name}: the format {card.format} has no contexts; allowed: beir, native"
    )


def find_place(card: Card) -> Path:
    """Return where contexts go unless told otherwise: where the data lies, as the card names it.

    Raises AssayError when that place is not for writing.
    """
    folder = find_data(card)
    if isinstance(card.location, Download) or not os.access(folder, os.W_OK):
        raise AssayError(f"collection {card.name}: {folder} is not for writing; give --output FILE")
    return folder / (_named(card) or FILE)


def is_read_from(card: Card, path: Path) -> bool:
    """Say whether loading the collection reads the contexts at `path`."""
    name = _named(card)
    if card.path is None and isinstance(card, BeirCard):
        name = FILE  # found without a card
    return name is not None and (find_data(card) / name).resolve() == path.resolve()


def render(card: Card, chunks: Iterable[Chunk], texts: Mapping[str, str]) -> str:
    """Return the lines of contexts.jsonl: a row for each of `chunks` whose id is in `texts`."""
    rows = [_row(card, chunk, texts[chunk.id]) for chunk in chunks if chunk.id in texts]
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _named(card: Card) -> str | None:
    return card.contexts if isinstance(card, BeirCard | NativeCard) else None


def _row(card: Card, chunk: Chunk, context: str) -> dict[str, str | int]:
    if isinstance(card, BeirCard):
        return {"_id": chunk.id, "context": context}
    return {"path": chunk.doc_id, "start": chunk.start, "end": chunk.end, "context": context}
