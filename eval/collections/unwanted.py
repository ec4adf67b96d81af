"""The documents of a collection that must not be returned, as its card names them."""

import re
from collections.abc import Collection

from assay.eval.collections.card import Card
from assay.retrievers.base import AssayError, Document
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.settings.filters import read_filter


def find_unwanted(card: Card, documents: Collection[Document]) -> frozenset[str]:
    """Return the ids of the documents that `card` names as unwanted.

    Raises AssayError for an id that no document has, and a filter that no document meets.
    """
    if isinstance(card.unwanted, dict):
        wanted = read_filter(card.unwanted, "unwanted", card.fields)
        found = frozenset(item.id for item in documents if wanted.matches(item.metadata))
        if not found:
            raise AssayError(f"{card.path or card.name}: unwanted: no document meets the filter")
        return found
    names = card.unwanted or []
    ids = [item.id for item in documents] if names else []
    found = frozenset()
    for name in names:
        pattern = re.compile(".*".join(map(re.escape, name.split("*"))), re.DOTALL)
        matching = frozenset(filter(pattern.fullmatch, ids))
        if not matching:
            raise AssayError(
                f"{card.path or card.name}: unwanted: no document is named {name}; allowed: ids of "
                f"documents, such as {ids[0] if ids else 'docs/old.md'}, with * for any characters"
                f"{suggest(name, ids)}"
            )
        found |= matching
    return found
