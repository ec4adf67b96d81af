"""The present read permissions of principals, for a collection that was searched before."""

from collections.abc import Mapping

from assay.eval.collections.card import Card
from assay.eval.collections.catalog import find
from assay.eval.collections.loading import open_source
from assay.eval.collections.permissions import find_readable
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, Document


class TodaysReaders:
    """The read permissions of a collection's documents, by its card and files as they are now.

    Raises AssayError if the collection is not here.
    """

    def __init__(self, reference: str) -> None:
        self._card: Card = find(reference)[0]
        self._documents: Mapping[str, Document] = open_source(
            self._card, Problems(strict=True)
        ).documents()

    def may_read(self, principal: str, doc_id: str) -> bool:
        """Return True if a principal may read a document; False if either no longer exists."""
        document = self._documents.get(doc_id)
        if document is None or principal not in self._card.principals:
            return False
        readable = find_readable(self._card, principal)
        return readable is not None and readable.matches(document.metadata)


def open_readers(reference: str) -> TodaysReaders | None:
    """Return the read permissions of a collection; None if it is not here."""
    try:
        return TodaysReaders(reference)
    except AssayError:
        return None
