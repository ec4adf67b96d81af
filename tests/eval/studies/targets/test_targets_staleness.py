"""Stale results are found where there are any."""

import pytest

from assay.eval.collections.card import Card
from assay.eval.collections.collection import Collection, GoldItem, Query
from assay.eval.studies.targets.ingests import count_stale
from assay.retrievers.base import (
    AssayError,
    Chunk,
    Document,
    Hit,
    IndexReport,
    Passage,
    Ranking,
    Retriever,
)  # fmt: skip

LINES = {"a": "One line.\nTwo lines.\n", "b": "Three lines.\nFour lines.\n"}


class Lines(Retriever):
    """Cuts documents into lines and returns those that share a word with the query."""

    def index(self, documents):
        self._chunks = []
        for document in documents:
            start = 0
            for line in document.text.splitlines(keepends=True):
                end = start + len(line)
                self._chunks.append(Chunk(f"{document.id}{start}", document.id, start, end, line))
                start = end
        return IndexReport(len(self._chunks))

    def search(self, query, k):
        words = set(query.split())
        found = [chunk for chunk in self._chunks if words & set(chunk.text.split())]
        return Ranking(tuple(Hit(chunk, 1.0) for chunk in found[:k]))


class Stubborn(Lines):
    """Keeps what it indexed first."""

    def index(self, documents):
        return IndexReport(0) if hasattr(self, "_chunks") else super().index(documents)


class Remembering(Lines):
    """Never forgets the answer to a query."""

    def __init__(self):
        self._answers = {}

    def search(self, query, k):
        return self._answers.setdefault(query, super().search(query, k))


@pytest.fixture
def collection():
    """Two documents, with the first line of each judged."""
    return Collection(
        name="lines",
        title="Lines",
        documents=tuple(Document(id_, text) for id_, text in LINES.items()),
        queries=(Query("q1", "One"), Query("q2", "Three")),
        gold={
            "q1": (GoldItem("q1", "a[0:10]", "a", 0, 10, 1),),
            "q2": (GoldItem("q2", "b[0:13]", "b", 0, 13, 1),),
        },
        card=Card(name="lines", title="Lines", format="native"),
    )


def test_none_where_the_index_is_replaced(collection):
    found = count_stale(Lines, collection, 10)
    assert (found.stale, found.searches) == (0, 8)
    assert (found.found, found.cuts) == (2, 2)
    assert found.results > 0


@pytest.mark.parametrize("kind", [Stubborn, Remembering])
def test_some_where_it_is_not(kind, collection):
    assert count_stale(kind, collection, 10).stale > 0


def test_a_collection_of_passages_has_no_text_to_edit(collection):
    fixed = Document("a", "text", passages=(Passage("p", 0, 4),))
    prescribed = Collection(**{**vars(collection), "documents": (fixed,)})
    with pytest.raises(AssayError, match="prescribes its passages"):
        count_stale(Lines, prescribed, 10)
