"""What a principal may read today, of a collection that was searched before."""

from collections.abc import Mapping

from assay.eval.collections.card import Card
from assay.eval.collections.catalog import find
from assay.eval.collections.loading import open_source
from assay.eval.collections.permissions import find_readable
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, Document


class TodaysReaders:
    """Who may read which document of a collection, by its card and its files as they are now.

    Raises AssayError where the collection is not here.
    """

    def __init__(self, reference: str) -> None:
        self._card: Card = find(reference)[0]
        self._documents: Mapping[str, Document] = open_source(
            self._card, Problems(strict=True)
        ).documents()

    def may_read(self, principal: str, doc_id: str) -> bool:
        """Return whether a principal may read a document; not what is gone, nor who is."""
        document = self._documents.get(doc_id)
        if document is None or principal not in self._card.principals:
            return False
        readable = find_readable(self._card, principal)
        return readable is not None and readable.matches(document.metadata)


def open_readers(reference: str) -> TodaysReaders | None:
    """Return who may read what of a collection; None where it is not here."""
    try:
        return TodaysReaders(reference)
    except AssayError:
        return None
