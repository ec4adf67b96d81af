"""What unjudged hits leave open: worked cases, and bounds against trying every judgment."""

import itertools
import random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples.joined_rankings import join_all
from samples.planned_runs import make_run

from assay.eval.collections.collection import GoldItem
from assay.eval.runs.json_form import to_json
from assay.eval.runs.summary.summary import summarise
from assay.eval.runs.summary.unjudged import examine, share_judged
from assay.eval.scoring import bounds, measures
from assay.eval.scoring.bounds import bound
from assay.eval.scoring.grid import lay_out
from assay.eval.scoring.join import RetrievedChunk, join
from assay.retrievers.base import Chunk

BOUNDED = (
    "Hit@1", "Hit@3", "MRR@4", "MRR", "P@3", "Recall@2", "Recall@5", "AP@3", "AP", "nDCG@3", "nDCG",
    "Recall@9tok",
)  # fmt: skip


def passage(i):
    return Chunk(f"p{i}", f"d{i}", 0, 20, "four words of text")


def judge(i, grade):
    return GoldItem("q", f"d{i}", f"d{i}", 0, 20, grade)


def rank(places, gold):
    return {"q": join([RetrievedChunk(passage(i)) for i in places], gold)}


def split(i, grades):
    """Gold items of these grades, side by side in passage `i`."""
    return [
        GoldItem("q", f"d{i}[{n}]", f"d{i}", 5 * n, 5 * n + 5, grade)
        for n, grade in enumerate(grades)
    ]


def of(scores):
    return {name: by_query["q"] for name, by_query in scores.items()}


def test_by_hand():
    """Unjudged, grade 2, unjudged, grade 0; and a passage of grade 1 that is not returned."""
    gold = [judge(1, 2), judge(3, 0), judge(9, 1)]
    joined, items = rank([0, 1, 2, 3], gold), {"q": gold}
    assert share_judged("nDCG@10", lay_out(joined, items)) == {"q": 0.5}
    assert share_judged("P@3", lay_out(joined, items)) == {"q": pytest.approx(1 / 3)}
    assert share_judged("Hit@1", lay_out(joined, items)) == {"q": 0}
    # Four tokens a passage: two fit into nine.
    assert share_judged("Recall@9tok", lay_out(joined, items)) == {"q": 0.5}
    run = join_all({"q": [passage(i) for i in range(4)]}, items)
    condensed = of(measures.score(["MRR@4", "P@2", "nDCG@4", "Recall@1"], run.condensed, items))
    log3 = 1.5849625007
    assert condensed == pytest.approx(
        {"MRR@4": 1, "P@2": 0.5, "nDCG@4": 2 / (2 + 1 / log3), "Recall@1": 0.5}
    )


cases = st.tuples(
    st.permutations(range(6)),
    st.integers(0, 6),
    st.dictionaries(st.integers(0, 7), st.integers(0, 3), min_size=1, max_size=6),
)


def check_bounds(name, order, gold, judged):
    """Bounds are the lowest and the highest score over all judgments there could be."""
    joined, items = rank(order, gold), {"q": gold}
    top = max(1, *(item.grade for item in gold))
    cutoff = int("".join(filter(str.isdigit, name)) or 6)
    above = order[: 2 if name.endswith("tok") else cutoff]
    unjudged = [i for i in above if i not in judged]
    tried = []
    for grades in itertools.product(range(top + 1), repeat=len(unjudged)):
        more = [*gold, *itertools.starmap(judge, zip(unjudged, grades, strict=True))]
        tried.append(measures.score([name], rank(order, more), {"q": more})[name]["q"])
    low, high = (side["q"] for side in bound(name, lay_out(joined, items)))
    assert low == pytest.approx(min(tried))
    assert high == pytest.approx(max(tried))
    assert 0 <= low <= tried[0] + 1e-9
    assert tried[0] <= high + 1e-9
    assert high <= 1 + 1e-9


@settings(deadline=None)
@given(cases, st.sampled_from(["nDCG@5", "nDCG", "AP@5"]))
def test_bounds_take_no_longer_for_high_grades(case, name):
    order, length, grades = case
    plain, high = (
        bound(name, lay_out(rank(order[:length], gold), {"q": gold}))
        for factor in (1, 1_000_000)
        for gold in [[judge(i, factor * grade) for i, grade in grades.items()]]
    )
    assert high == (pytest.approx(plain[0]), pytest.approx(plain[1]))


several = st.tuples(
    st.permutations(range(5)),
    st.integers(0, 5),
    st.dictionaries(
        st.integers(0, 6),
        st.lists(st.integers(0, 3), min_size=1, max_size=4),
        min_size=1,
        max_size=4,
    ),
)


@settings(deadline=None)
@given(several, st.sampled_from(BOUNDED))
def test_bounds_where_a_passage_holds_several_items(case, name):
    order, length, grades = case
    gold = [item for i, each in grades.items() for item in split(i, each)]
    check_bounds(name, order[:length], gold, set(grades))


@given(cases)
def test_where_all_is_judged_nothing_is_open(case):
    order, length, grades = case
    gold = [judge(i, grades.get(i, 0)) for i in range(8)]
    joined, items = rank(order[:length], gold), {"q": gold}
    plain = of(measures.score(BOUNDED, joined, items))
    run = join_all({"q": [passage(i) for i in order[:length]]}, items)
    assert of(measures.score(BOUNDED, run.condensed, items)) == plain
    for name in BOUNDED:
        assert share_judged(name, lay_out(joined, items)) == {"q": 1 if length else 0}
        assert bound(name, lay_out(joined, items)) == ({"q": plain[name]}, {"q": plain[name]})


COLUMNAR = (*BOUNDED, "Judged@3", "P@30", "nDCG@20")


@settings(deadline=None)
@given(st.lists(several, min_size=1, max_size=4))
def test_scores_of_columns_are_ir_measures_to_the_bit(cases):
    """Each measure by itself, which has ir-measures score TREC run and qrels, or asks our own."""
    gold = {
        str(i): [item for place, each in grades.items() for item in split(place, each)]
        for i, (_, _, grades) in enumerate(cases)
    }
    joined = {
        str(i): rank(order[:length], gold[str(i)])["q"]
        for i, (order, length, _) in enumerate(cases)
    }
    found = measures.score(COLUMNAR, joined, gold)
    for name in COLUMNAR:
        measure = measures.find(name)
        assert measure.columnar
        cut = {query: measure.cut(hits) for query, hits in joined.items()}
        assert found[measure.name] == measure.score_queries(cut, gold)


# Means over queries, as scoring each ranking with its unjudged hits judged gave them.
RESCORED = {
    "MRR@10": (0.18003968253968253, 0.575),
    "Recall@50tok": (0.13847130810366107, 0.2962684007997307),
    "AP": (0.08629768589479542, 0.36095299706587425),
    "AP@10": (0.046659587530298315, 0.26998712713382567),
    "nDCG": (0.1496529345614032, 0.42668156404719665),
    "nDCG@10": (0.09446787178080121, 0.4366605127504686),
}


@pytest.mark.parametrize("at_once", [1, bounds.AT_ONCE])
def test_many_queries_at_once(at_once, monkeypatch):
    monkeypatch.setattr(bounds, "AT_ONCE", at_once)
    rng = random.Random(3)
    joined, gold = {}, {}
    for query in map(str, range(60)):
        gold[query] = [
            GoldItem(query, f"d{i}[{n}]", f"d{i}", 5 * n, 5 * n + 5, rng.randint(0, 3))
            for i in rng.sample(range(40), rng.randint(1, 12))
            for n in range(rng.choice([1, 1, 3]))
        ]
        found = rng.sample(range(40), rng.choice([0, 3, 30]))
        joined[query] = join([RetrievedChunk(passage(i)) for i in found], gold[query])
    grid = lay_out(joined, gold)
    for name, means in RESCORED.items():
        limits = bound(name, grid)
        assert limits is not None
        assert tuple(fmean(side.values()) for side in limits) == pytest.approx(means, abs=1e-15)


def test_of_a_run(tmp_path):
    """Of ten documents one is judged for each query; two queries do not find theirs."""
    run = make_run(tmp_path, "planned", [1, 2, 1, 0, 0, 1, 1, 1, 1, 1])
    summary = summarise(run, ["Hit@1", "Judged@1", "nDCG@10", "Bpref", "Tokens@10"])
    found = {item.measure: item for item in examine(run, summary.scores)}
    assert list(found) == ["Hit@1", "nDCG@10", "Bpref"]
    first = found["Hit@1"]
    assert first.scored == summary.means["Hit@1"]
    assert (first.scored.value, first.judged.value, first.judged.n) == (0.7, 0.7, 10)
    assert (first.condensed.value, first.lower.value, first.upper.value) == (0.8, 0.7, 1)
    assert first.judged.low < first.judged.value < first.judged.high
    assert found["nDCG@10"].upper.value == pytest.approx(1, abs=0.2)
    assert (found["Bpref"].lower, found["Bpref"].upper) == (None, None)
    shown = to_json(summary)["unjudged"]
    assert list(shown) == list(found)
    assert shown["Hit@1"]["judged"]["mean"] == 0.7
    assert shown["Hit@1"]["bounds"]["upper"]["mean"] == 1
    assert shown["Bpref"]["bounds"] is None
