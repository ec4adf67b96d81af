"""Stale results are found where there are any."""

from dataclasses import replace

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


def test_stale_results_are_found_where_there_are_any(collection):
    found = count_stale(Lines, collection, 10)
    assert (found.stale, found.searches, found.found, found.cuts) == (0, 8, 2, 2)
    assert found.results > 0
    for kind in (Stubborn, Remembering):
        assert count_stale(kind, collection, 10).stale > 0
    fixed = Document("a", "text", passages=(Passage("p", 0, 4),))
    with pytest.raises(AssayError, match="prescribes its passages"):
        count_stale(Lines, replace(collection, documents=(fixed,)), 10)
