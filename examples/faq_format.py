"""A format of your own, named in `assay.collection_formats`: questions with their answers."""

from typing import Literal

from assay.eval.collections.card import Card
from assay.eval.collections.collection import GoldItem
from assay.eval.collections.formats.reading import read_jsonl
from assay.eval.collections.formats.source import GoldBook, Source, read_query_rows
from assay.retrievers.base import Document


class FaqCard(Card):
    """A card that says `format: faq`."""

    format: Literal["faq"]


class FaqSource(Source[FaqCard]):
    """Each row of faq.jsonl is a query (`_id`, `text`) and the document with its `answer`."""

    card_class = FaqCard

    def documents(self):
        """Return the answers by id."""
        rows = self.queries().rows
        return {id_: Document(id_, row.string("answer", "")) for id_, row in rows.items()}

    def queries(self):
        """Return the questions."""
        return read_query_rows(read_jsonl(self._root / "faq.jsonl", self._problems), self._problems)

    def gold(self, variant, documents, queries):
        """Judge each answer relevant to its question."""
        book = GoldBook(queries, self._card.min_grade, self._problems, self._card.judged_by)
        for id_, row in self.queries().rows.items():
            book.add(row, GoldItem(id_, id_, id_, 0, len(documents[id_].text), 1))
        return book
