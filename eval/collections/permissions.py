"""The documents that a query may find: those its principal may read and its filter accepts."""

from collections.abc import Iterable, Mapping

from assay.eval.collections.card import Card
from assay.eval.collections.collection import Collection, GoldItem, Query
from assay.retrievers.base import AssayError, Document
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.settings.fields import find_misfit, list_values
from assay.retrievers.settings.filters import Filter, read_filter


def find_allowed(card: Card, query: Query) -> Filter | None:
    """Return the filter of documents that `query` may find; None if it may find all.

    Raises AssayError for a filter that does not fit the fields of the card, or a principal that it
    does not name.
    """
    readable = find_readable(card, query.principal)
    if not query.filter:
        return readable
    own = read_filter(query.filter, "filter", card.fields)
    return own & readable if readable else own


def find_readable(card: Card, principal: str) -> Filter | None:
    """Return the filter of documents that `principal` may read; None if nobody is named.

    Raises AssayError for one that the card does not name.
    """
    if not principal:
        return None
    if principal not in card.principals:
        named = ", ".join(card.principals) or "none; the card's `principals` names them"
        near = suggest(principal, card.principals)
        raise AssayError(f"principal: no such one: {principal}; allowed: {named}{near}")
    return Filter(field=card.readers, one_of=list(card.principals[principal]))


def list_allowed(collection: Collection) -> dict[str, Filter]:
    """Return the filters of queries by id; a query without one may find all documents."""
    found = ((query.id, find_allowed(collection.card, query)) for query in collection.queries)
    return {id_: allowed for id_, allowed in found if allowed is not None}


def keep_allowed(
    card: Card,
    query: Query,
    items: Iterable[GoldItem],
    documents: Mapping[str, Document],
) -> tuple[GoldItem, ...]:
    """Return those of the judgments of a query that are of documents which it may find."""
    allowed = find_allowed(card, query)
    if allowed is None:
        return tuple(items)
    return tuple(
        item
        for item in items
        if item.doc_id in documents and allowed.matches(documents[item.doc_id].metadata)
    )


def find_faults(card: Card, documents: Iterable[Document]) -> Iterable[tuple[str, bool]]:
    """Yield each fault of the documents' metadata against the card, and True if it is an error."""
    unread = []
    for document in documents:
        if misfit := find_misfit(document.metadata, card.fields):
            yield f'document "{document.id}": metadata: {misfit}', True
        if card.readers and not list_values(document.metadata, card.readers):
            unread.append(document.id)
    if unread:
        yield (
            f'readers: {len(unread)} documents have no {card.readers}, the first "{unread[0]}": no '
            "principal may read them",
            False,
        )
