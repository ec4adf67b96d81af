"""Loading a collection: its card, its files, its judgments."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.eval.collections.card import Card
from assay.eval.collections.catalog import find
from assay.eval.collections.collection import Collection
from assay.eval.collections.formats.registry import find_format
from assay.eval.collections.formats.source import Source
from assay.eval.collections.location import find_data
from assay.eval.collections.parts import take_part
from assay.eval.collections.permissions import keep_allowed
from assay.eval.collections.problems import QUIET, Problems
from assay.retrievers.base import Document, Progress
from assay.retrievers.store.lazy_sequence import ById


def load(reference: str, progress: Progress = QUIET) -> Collection:
    """Return the collection that `name` or `name:variant` means (see `catalog.find_card`).

    The reading of large data, and of its digest, is shown. Raises AssayError when there is no such
    collection, its data is not here, or a line of it is broken.
    """
    return load_card(*find(reference), progress)


def load_unjudged(reference: str, progress: Progress = QUIET) -> Collection:
    """Return the documents of a collection with its card, without queries and judgments.

    Raises AssayError as `load` does.
    """
    card, variant = find(reference)
    documents = open_source(card, Problems(strict=True, progress=progress)).documents()
    return Collection(
        name=_name(card, variant),
        title=card.title,
        documents=list_documents(documents),
        queries=(),
        gold={},
        card=card,
        progress=progress,
    )


def load_card(
    card: Card,
    variant: str,
    progress: Progress = QUIET,
    documents: Mapping[str, Document] | None = None,
    unjudged: bool = False,
) -> Collection:
    """Return the collection of `card` with the judgments of `variant`. Raises AssayError.

    `documents` are those of its files, where they have been read. Queries that nobody has judged
    are left out unless `unjudged`.
    """
    if variant not in card.variants:
        whole = load_card(card, card.variants[0], progress, documents, unjudged)
        return take_part(whole, variant)
    source = open_source(card, Problems(strict=True, progress=progress))
    documents = source.documents() if documents is None else documents
    queries = source.queries().items
    gold = source.gold(variant, documents, queries).items
    asked = [query for query in queries.values() if unjudged or query.id in gold]
    return Collection(
        name=_name(card, variant),
        title=card.title,
        documents=list_documents(documents),
        queries=tuple(asked),
        gold={
            query.id: keep_allowed(card, query, gold.get(query.id, {}).values(), documents)
            for query in asked
        },
        card=card,
        drop_self_matches=card.drop_self_matches,
        progress=progress,
    )


def _name(card: Card, variant: str) -> str:
    return card.name if variant == card.variants[0] else f"{card.name}:{variant}"


def list_documents(documents: Mapping[str, Document]) -> Sequence[Document]:
    """Return the documents of a source in its order; those that are read on access stay so."""
    return documents.shelf if isinstance(documents, ById) else tuple(documents.values())


def open_source(card: Card, problems: Problems) -> Source[Any]:
    """Return the reader of the collection's data, which reports to `problems`.

    Raises AssayError when the data is not here.
    """
    root = find_data(card) if card.has_folder else Path(card.location)
    return find_format(card.format)(card, root, problems)
