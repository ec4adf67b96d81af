"""The join rule: worked cases, and its properties on generated rankings."""

from hypothesis import given
from hypothesis import strategies as st

from eval.collections.collection import GoldItem
from eval.scoring import measures
from eval.scoring.join import Retrieved, covers, join
from retrievers.base import Chunk


def chunk(start: int, end: int, doc: str = "d", id_: str = "") -> Chunk:
    return Chunk(id_ or f"{doc}:{start}-{end}", doc, start, end, "x " * ((end - start) // 2))


def gold(start: int, end: int, grade: int = 1, doc: str = "d", passage: str = "") -> GoldItem:
    id_ = passage or f"{doc}[{start}:{end}]"
    return GoldItem("q", id_, doc, start, end, grade, passage)


def test_half_of_the_shorter_covers() -> None:
    item = gold(100, 200)
    assert covers(Retrieved(chunk(150, 400)), item)
    assert not covers(Retrieved(chunk(151, 400)), item)
    assert covers(Retrieved(chunk(90, 110)), item), "half of a chunk shorter than the item"
    assert not covers(Retrieved(chunk(89, 110)), item)
    assert covers(Retrieved(chunk(0, 1000)), item)
    assert not covers(Retrieved(chunk(100, 200, doc="other")), item)


def test_prescribed_passages_are_matched_by_id() -> None:
    item = gold(0, 100, passage="p1")
    assert covers(Retrieved(chunk(0, 100, id_="p1"), prescribed=True), item)
    assert not covers(Retrieved(chunk(0, 100, id_="p2"), prescribed=True), item)
    assert covers(Retrieved(chunk(0, 90, id_="mine")), item), "another chunker's: by its span"


def test_an_item_counts_once_and_a_chunk_may_cover_several() -> None:
    items = [gold(0, 50, grade=1), gold(50, 100, grade=3)]
    joined = join([Retrieved(chunk(0, 100)), Retrieved(chunk(40, 100))], items)
    assert [item.grade for item in joined[0].found] == [3, 1]
    assert joined[0].grade == 3
    assert joined[1].found == ()
    assert joined[1].judged


def test_measures_by_hand() -> None:
    items = {"q": [gold(0, 50, grade=1), gold(50, 100, grade=3), gold(500, 600, grade=2)]}
    ranking = [chunk(200, 300), chunk(0, 100), chunk(500, 600)]
    joined = {"q": join([Retrieved(one) for one in ranking], items["q"])}
    names = ["Success@1", "Success@3", "RR@10", "R@2", "R@3", "P@5", "Judged@10", "nDCG@10"]
    scores = {
        name: by_query["q"] for name, by_query in measures.score(names, joined, items).items()
    }
    assert scores["Success@1"] == 0
    assert scores["Success@3"] == 1
    assert scores["RR@10"] == 0.5
    assert scores["R@2"] == 2 / 3, "both items of the second chunk count"
    assert scores["R@3"] == 1
    assert scores["P@5"] == 2 / 5
    assert abs(scores["Judged@10"] - 2 / 3) < 1e-9
    # gains 3 at rank 2 and 2 at rank 3, over the ideal 3, 2, 1
    dcg, ideal = 3 / 1.5849625007 + 2 / 2, 3 + 2 / 1.5849625007 + 1 / 2
    assert abs(scores["nDCG@10"] - dcg / ideal) < 1e-6


def test_token_budget() -> None:
    items = {"q": [gold(100, 140)]}
    long, short = Chunk("a", "d", 0, 60, "word " * 30), Chunk("b", "d", 100, 140, "word " * 20)
    joined = {"q": join([Retrieved(long), Retrieved(short)], items["q"])}
    scores = measures.score(["R@49tok", "R@50tok", "Tokens@10"], joined, items)
    assert [scores[name]["q"] for name in scores] == [0.0, 1.0, 50.0]


def test_no_results_score_nothing() -> None:
    items = {"q": [gold(0, 10)], "empty": [gold(0, 10)]}
    joined = {"q": join([Retrieved(chunk(0, 10))], items["q"]), "empty": []}
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
def test_nothing_exceeds_one_and_items_count_once(graded, ranking) -> None:
    items = {"q": [gold(*span, grade=grade) for span, grade in graded]}
    joined = {"q": join([Retrieved(chunk(*span)) for span in ranking], items["q"])}
    counted = [item.id for hit in joined["q"] for item in hit.found]
    assert len(counted) == len(set(counted))
    bounded = [name for name in measures.DEFAULT if not name.startswith("Tokens")]
    for name, by_query in measures.score(bounded, joined, items).items():
        assert 0 <= by_query["q"] <= 1 + 1e-9, name


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.permutations(range(12)))
def test_one_chunk_an_item_equals_plain_qrels(grades, order) -> None:
    """Where each gold item is exactly one chunk, every measure is ir-measures' on plain qrels."""
    import ir_measures

    items = {
        "q": [
            gold(at * 100, at * 100 + 100, grade, passage=f"p{at}")
            for at, grade in enumerate(grades)
        ]
    }
    chunks = [chunk(at * 100, at * 100 + 100, id_=f"p{at}") for at in order]
    joined = {"q": join([Retrieved(one, prescribed=True) for one in chunks], items["q"])}
    names = [name for name in measures.DEFAULT if "tok" not in name.lower()]
    parsed = {name: ir_measures.parse_measure(name) for name in names}
    qrels = {"q": {item.id: item.grade for item in items["q"]}}
    run = {"q": {one.id: float(-at) for at, one in enumerate(chunks)}}
    plain = {row.measure: row.value for row in ir_measures.iter_calc(parsed.values(), qrels, run)}
    scores = measures.score(names, joined, items)
    assert {name: scores[name]["q"] for name in names} == {
        name: plain[measure] for name, measure in parsed.items()
    }
