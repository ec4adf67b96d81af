"""Rankings that break the contract are refused before they are scored."""

import math
from dataclasses import replace

import pytest
from samples.planned_runs import Whole, make_collection

from assay.eval.runs.contract import check_ranking
from assay.eval.runs.execution.execution import RunSpec, execute
from assay.eval.runs.latency import LatencySettings
from assay.retrievers.base import (
    AssayError,
    Hit,
    Quiet,
    Ranking,
)


class FaultyRetriever(Whole):
    """Finds the first three documents, and then tells `lie` of them."""

    def search(self, query, k):
        return self._answer(self.find())

    def find(self):
        return [Hit(chunk, 3.0 - i) for i, chunk in enumerate(self._chunks[:3])]


def swap(hits, **changes):
    """Change the chunk at rank 2."""
    return Ranking((hits[0], replace(hits[1], chunk=replace(hits[1].chunk, **changes)), hits[2]))


def score(hits, value):
    return Ranking((hits[0], replace(hits[1], score=value), hits[2]))


def run(lie, folder):
    plan = RunSpec("liar", {"name": "liar"}, 10, None, LatencySettings(queries=0))
    execute(plan, FaultyRetriever(lie), make_collection(4), folder, Quiet())


def test_an_honest_one_is_scored_in_its_own_order(tmp_path):
    run(lambda hits: Ranking(tuple(hits)), tmp_path)
    run(lambda hits: score(hits, 9.0), tmp_path)


LIES = {
    "nan": (lambda hits: score(hits, math.nan), "rank 2: the score nan is not finite"),
    "infinite": (lambda hits: score(hits, -math.inf), "rank 2: the score -inf is not finite"),
    "twice": (lambda hits: Ranking((hits[0], hits[0])), "rank 2: the chunk .* at rank 1 already"),
    "nowhere": (lambda hits: swap(hits, doc_id="no.md"), "rank 2: 'no.md' is no document"),
    "past": (lambda hits: swap(hits, end=10**6), "rank 2: the span 0–1000000 of .* within its"),
    "before": (lambda hits: swap(hits, start=-1), "rank 2: the span -1–"),
    "text": (lambda hits: swap(hits, text="other"), "rank 2: the text is not that of the span 0–"),
    "too many": (lambda hits: Ranking(tuple(hits * 4)), "12 hits were returned, 10 were asked for"),
    "a list": (lambda hits: hits, "search returned a list, not an assay.retrievers.base.Ranking"),
    "nothing": (lambda hits: None, "search returned nothing"),
    "fails": (lambda hits: {}["key"], "KeyError: 'key'"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_broken_ranking_is_refused_and_leaves_no_run(name, tmp_path):
    lie, words = LIES[name]
    with pytest.raises(AssayError, match=rf"^FaultyRetriever: query q0: .*{words}") as caught:
        run(lie, tmp_path)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [".locks"]


@pytest.mark.parametrize("name", [name for name in LIES if name != "fails"])
def test_a_ranking_of_chunks_that_are_known_is_refused_alike(name):
    lie, words = LIES[name]
    collection, sound = make_collection(4), {}
    liar = FaultyRetriever(lie)
    liar.index(collection.documents)
    honest = Ranking(tuple(liar.find()))
    for _ in range(2):
        assert check_ranking(honest, liar, "q", 10, collection.texts, sound) is honest
        assert len(sound) == 3
    with pytest.raises(AssayError, match=words):
        check_ranking(lie(liar.find()), liar, "q", 10, collection.texts, sound)
