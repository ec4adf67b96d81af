"""Which of several documents a query names: by the words of title, path and headings."""

from collections import Counter, defaultdict
from functools import lru_cache

from assay.retrievers.base import Chunk
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.structure.identifiers import split_title
from assay.retrievers.text.base import Analyzer
from assay.retrievers.text.languages import LanguageAnalyzerSettings

# How many words of a query a name has, and whether the query has all those of the title.
Likeness = tuple[int, bool]


class DocumentNames:
    """The words that each document of a collection is called by.

    Words are compared by their English stems, without English stop words and numbers of sections.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._titles = {id_: document.title for id_, document in corpus.documents.items()}
        self._called: dict[str, list[str]] = defaultdict(list)
        for doc_id in corpus.by_document:
            for word in self._name(doc_id):
                self._called[word].append(doc_id)

    def compare(self, words: frozenset[str], chunk: Chunk) -> Likeness:
        """Return how much of `words` the title, path and headings of a chunk have."""
        headings = (_read(split_title(heading)) for heading in chunk.headings)
        named = self._name(chunk.doc_id).union(_read(chunk.title), *headings)
        title = _read(self._titles.get(chunk.doc_id) or chunk.title)
        return len(words & named), bool(title) and title <= words

    def count_best(self, words: frozenset[str]) -> int:
        """Return how many of `words` the title and path of one document have at most."""
        counts = Counter(doc_id for word in words for doc_id in self._called.get(word, ()))
        return max(counts.values(), default=0)

    def _name(self, doc_id: str) -> frozenset[str]:
        return _read(self._titles.get(doc_id, "")) | _read(doc_id)


def read_words(query: str, mention: str) -> frozenset[str]:
    """Return the words of `query` beyond a `mention` in it."""
    return _read(query.replace(mention, " ", 1))


_ANALYZER = LanguageAnalyzerSettings(language="english", identifiers=False)


@lru_cache(maxsize=1)
def _analyzer() -> Analyzer:
    return _ANALYZER.build()


@lru_cache(maxsize=1 << 14)
def _read(text: str) -> frozenset[str]:
    return frozenset(_analyzer().analyze(text))
