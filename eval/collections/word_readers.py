"""The groups that may read a word: those of the documents that hold it."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from typing import Any

from assay.retrievers.base import Document
from assay.retrievers.settings.fields import list_values

WORD = re.compile(r"[^\W\d_]\w{2,}")  # a shorter one, or a number, tells of no document


class WordReaders:
    """The words of documents, each with the groups of those that hold it."""

    def __init__(self, documents: Iterable[Document], readers: str) -> None:
        self._groups: dict[str, set[Any]] = defaultdict(set)
        for document in documents:
            groups = list_values(document.metadata, readers)
            for text in _list_texts(document):
                for word in find_words(text):
                    self._groups[word].update(groups)

    def hides(self, text: str, groups: Iterable[Any], said: Container[str]) -> bool:
        """Return True if `text` has a word that is in documents, but in none that `groups` read.

        Words that the asking person has `said` do not count.
        """
        held = frozenset(groups)
        return any(
            word in self._groups and word not in said and held.isdisjoint(self._groups[word])
            for word in find_words(text)
        )


def find_words(text: str) -> set[str]:
    """Return the words of `text`, without regard to case."""
    return set(WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def _list_texts(document: Document) -> Iterator[str]:
    yield from (document.id, document.title, document.text)
    yield from (passage.title for passage in document.passages)
    yield from (context.text for context in document.contexts)
    yield from map(str, document.metadata.values())
