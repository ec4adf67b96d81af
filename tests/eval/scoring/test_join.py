"""The join rule: worked cases, and its properties on generated rankings."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring import measures
from assay.eval.scoring.join import JoinedHit, RetrievedChunk, covers, fill_places, join
from assay.retrievers.base import Chunk


def chunk(start, end, doc="d", id_=""):
    return Chunk(id_ or f"{doc}:{start}-{end}", doc, start, end, "x " * ((end - start) // 2))


def gold(start, end, grade=1, doc="d", passage=""):
    id_ = passage or f"{doc}[{start}:{end}]"
    return GoldItem("q", id_, doc, start, end, grade, passage)


def test_what_covers_an_item():
    item = gold(100, 200)
    assert covers(RetrievedChunk(chunk(150, 400)), item)
    assert not covers(RetrievedChunk(chunk(151, 400)), item)
    assert covers(RetrievedChunk(chunk(90, 110)), item), "half of a chunk shorter than the item"
    assert not covers(RetrievedChunk(chunk(89, 110)), item)
    assert covers(RetrievedChunk(chunk(0, 1000)), item)
    assert not covers(RetrievedChunk(chunk(100, 200, doc="other")), item)
    item = gold(0, 100, passage="p1")
    assert covers(RetrievedChunk(chunk(0, 100, id_="p1"), prescribed=True), item)
    assert not covers(RetrievedChunk(chunk(0, 100, id_="p2"), prescribed=True), item)
    assert covers(RetrievedChunk(chunk(0, 90, id_="mine")), item), "another chunker's: by its span"
    items = [gold(0, 50, grade=1), gold(50, 100, grade=3)]
    joined = join([RetrievedChunk(chunk(0, 100)), RetrievedChunk(chunk(40, 100))], items)
    assert [item.grade for item in joined[0].found] == [3, 1]
    assert joined[0].grade == 3
    assert joined[1].found == ()
    assert joined[1].judged


def test_measures_by_hand():
    items = {"q": [gold(0, 50, grade=1), gold(50, 100, grade=3), gold(500, 600, grade=2)]}
    ranking = [chunk(200, 300), chunk(0, 100), chunk(500, 600)]
    joined = {"q": join([RetrievedChunk(one) for one in ranking], items["q"])}
    names = ["Hit@1", "Hit@3", "MRR@10", "Recall@2", "Recall@3", "P@5", "Judged@10", "nDCG@10"]
    scores = {
        name: by_query["q"] for name, by_query in measures.score(names, joined, items).items()
    }
    assert scores["Hit@1"] == 0
    assert scores["Hit@3"] == 1
    assert scores["MRR@10"] == 0.5
    assert scores["Recall@2"] == 2 / 3, "both items of the second chunk count"
    assert scores["Recall@3"] == 1
    assert scores["P@5"] == 3 / 5
    assert abs(scores["Judged@10"] - 2 / 3) < 1e-9
    # Grades 3 at rank 2, 2 at rank 3, and 1, which waited, after it.
    log3, log5 = 1.5849625007, 2.3219280949
    ideal = 3 + 2 / log3 + 1 / 2
    assert abs(scores["nDCG@10"] - (3 / log3 + 2 / 2 + 1 / log5) / ideal) < 1e-6
    hit = measures.score(["hit_nDCG@10"], joined, items)["hit_nDCG@10"]["q"]
    assert abs(hit - (3 / log3 + 2 / 2) / ideal) < 1e-6, "each hit counts once"


def test_token_budgets_and_empty_rankings():
    items = {"q": [gold(100, 140)]}
    long, short = Chunk("a", "d", 0, 60, "word " * 30), Chunk("b", "d", 100, 140, "word " * 20)
    joined = {"q": join([RetrievedChunk(long), RetrievedChunk(short)], items["q"])}
    scores = measures.score(["Recall@49tok", "Recall@50tok", "Tokens@10"], joined, items)
    assert [scores[name]["q"] for name in scores] == [0.0, 1.0, 50.0]
    items = {"q": [gold(0, 10)], "empty": [gold(0, 10)]}
    joined = {"q": join([RetrievedChunk(chunk(0, 10))], items["q"]), "empty": []}
    scores = measures.score(measures.DEFAULT, joined, items)
    assert all(by_query.keys() == {"q", "empty"} for by_query in scores.values())
    assert all(by_query["empty"] == 0 for by_query in scores.values())
    assert measures.score(["Empty"], joined, items)["Empty"] == {"q": 0.0, "empty": 1.0}


spans = st.tuples(st.integers(0, 200), st.integers(1, 80)).map(lambda s: (s[0], s[0] + s[1]))
golds = st.lists(
    st.tuples(spans, st.integers(0, 3)), min_size=1, max_size=6, unique_by=lambda g: g[0]
)
rankings = st.lists(spans, max_size=12, unique=True)


@given(golds, rankings)
def test_nothing_exceeds_one_and_items_count_once(graded, ranking):
    items = {"q": [gold(*span, grade=grade) for span, grade in graded]}
    joined = {"q": join([RetrievedChunk(chunk(*span)) for span in ranking], items["q"])}
    counted = [item.id for hit in joined["q"] for item in hit.found]
    assert len(counted) == len(set(counted))
    bounded = [name for name in measures.DEFAULT if not name.startswith("Tokens")]
    for name, by_query in measures.score(bounded, joined, items).items():
        assert 0 <= by_query["q"] <= 1 + 1e-9, name


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.permutations(range(12)))
def test_one_chunk_an_item_equals_plain_qrels(grades, order):
    """Where each gold item is exactly one chunk, every measure is ir-measures' on plain qrels."""
    import ir_measures

    items = {
        "q": [
            gold(i * 100, i * 100 + 100, grade, passage=f"p{i}") for i, grade in enumerate(grades)
        ]
    }
    chunks = [chunk(i * 100, i * 100 + 100, id_=f"p{i}") for i in order]
    joined = {"q": join([RetrievedChunk(one, prescribed=True) for one in chunks], items["q"])}
    names = list(measures.list_standard(measures.DEFAULT))
    parsed = {name: ir_measures.parse_measure(measures.find(name).standard) for name in names}
    qrels = {"q": {item.id: item.grade for item in items["q"]}}
    run = {"q": {one.id: float(-i) for i, one in enumerate(chunks)}}
    plain = {row.measure: row.value for row in ir_measures.iter_calc(parsed.values(), qrels, run)}
    scores = measures.score(names, joined, items)
    assert {name: scores[name]["q"] for name in names} == {
        name: plain[measure] for name, measure in parsed.items()
    }


# What each hit counts for: the grades of the items that it is the first to cover.
covering = st.lists(st.lists(st.integers(1, 3), max_size=4), max_size=8)
RANKED = ("nDCG@3", "nDCG@10", "nDCG", "AP", "AP@3", "P@1", "P@3", "MRR@10", "Hit@3", "Recall@3")


def make_items(rank, grades):
    """Return items of these grades as the join finds them, best grade first."""
    graded = enumerate(sorted(grades, reverse=True))
    return tuple(GoldItem("q", f"g{rank}.{i}", "d", 0, 9, grade) for i, grade in graded)


def score_ranking(hits, missed=(), names=RANKED):
    """Score a ranking whose hits cover items of these grades, and miss others."""
    *made, lost = [make_items(rank, grades) for rank, grades in enumerate([*hits, missed])]
    joined = [JoinedHit(chunk(0, 9, id_=f"c{i}"), found, True) for i, found in enumerate(made)]
    gold = {"q": [item for items in (*made, lost) for item in items]}
    return {name: one["q"] for name, one in measures.score(names, {"q": joined}, gold).items()}


def check_rises(before, after):
    for name, score in before.items():
        assert after[name] >= score - 1e-9, name


@given(st.lists(st.integers(1, 3), min_size=1, max_size=14), st.integers(0, 3))
def test_a_first_hit_that_covers_all_is_perfect(grades, others):
    scores = score_ranking([grades, *[[]] * others])
    for name in ("nDCG@3", "nDCG@10", "nDCG", "AP", "P@1", "MRR@10", "Hit@3", "Recall@3"):
        assert scores[name] == pytest.approx(1), name


@given(st.lists(st.integers(1, 3), min_size=2, max_size=8), st.data())
def test_what_misses_an_item_that_has_a_place_is_not_perfect(grades, data):
    """However many of the others the first hit covers."""
    i = data.draw(st.integers(0, len(grades) - 1))
    scores = score_ranking([grades[:i] + grades[i + 1 :]], [grades[i]])
    assert scores["nDCG@10"] < 1 - 1e-6
    assert scores["AP"] < 1 - 1e-6


@given(covering, st.data())
def test_covering_an_item_earlier_never_lowers(hits, data):
    full = [i for i, grades in enumerate(hits) if grades]
    assume(full)
    late = data.draw(st.sampled_from(full))
    early = data.draw(st.integers(0, late))
    moved = [list(grades) for grades in hits]
    moved[early].append(moved[late].pop())
    check_rises(score_ranking(hits), score_ranking(moved))


@given(covering, st.data())
def test_covering_one_more_item_never_lowers(hits, data):
    assume(hits)
    i, grade = data.draw(st.integers(0, len(hits) - 1)), data.draw(st.integers(1, 3))
    more = [[*grades, grade] if rank == i else grades for rank, grades in enumerate(hits)]
    check_rises(score_ranking(hits, [grade]), score_ranking(more))


@given(covering, st.data())
def test_a_hit_that_counts_for_nothing_never_raises(hits, data):
    i = data.draw(st.integers(0, len(hits)))
    check_rises(score_ranking([*hits[:i], [], *hits[i:]]), score_ranking(hits))


@given(covering)
def test_no_order_with_an_item_at_its_rank_or_below_has_a_higher_dcg(hits):
    """Against the best assignment of items to places, by SciPy."""
    from scipy.optimize import linear_sum_assignment

    items = [(rank, grade) for rank, grades in enumerate(hits) for grade in grades]
    assume(items)
    size = len(hits) + len(items)
    gains = [[g / math.log2(p + 2) if p >= r else -99.0 for p in range(size)] for r, g in items]
    best = sum(
        gains[item][place]
        for item, place in zip(*linear_sum_assignment(gains, maximize=True), strict=True)
    )
    found = [
        JoinedHit(chunk(0, 9), make_items(rank, grades), True) for rank, grades in enumerate(hits)
    ]
    places = fill_places(found)
    assert sum(p.grade / math.log2(i + 2) for i, p in enumerate(places)) == pytest.approx(best)
    assert all(place.rank <= i for i, place in enumerate(places, start=1))


def test_a_chunk_that_bears_the_id_of_an_item_is_not_taken_for_it():
    """The exact span of an item, after a longer chunk that counted it, counts for nothing new."""
    item = gold(100, 200)
    first, exact = chunk(90, 210), chunk(100, 200, id_=item.id)
    alone = {"q": join([RetrievedChunk(first)], [item])}
    again = {"q": join([RetrievedChunk(first), RetrievedChunk(exact)], [item])}
    for name in ("Hit@1", "MRR@10", "nDCG@10", "AP", "Recall@5", "hit_nDCG@10"):
        (before,) = measures.score([name], alone, {"q": [item]})[name].values()
        (after,) = measures.score([name], again, {"q": [item]})[name].values()
        assert before == after == 1.0
    elsewhere = {"q": join([RetrievedChunk(chunk(500, 600, id_=item.id))], [item])}
    assert measures.score(["MRR@10"], elsewhere, {"q": [item]})["MRR@10"] == {"q": 0.0}
