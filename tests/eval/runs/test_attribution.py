"""Statuses of gold items: each one planted, and what must hold of any run."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples.planned_runs import make_collection, make_run

from assay.eval.collections.collection import GoldItem
from assay.eval.runs.gold_ranks import GoldRank
from assay.eval.runs.summary.attribution import STATUSES, attribute
from assay.eval.runs.summary.ceilings import UNION
from assay.eval.scoring import measures
from assay.retrievers.base import Chunk, Hit, Ranking, StageTrace

COUNT = 40
KINDS = {"fusion": "fusion", "dense": "leg", "keyword": "leg"}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A run of one query, answered by d0 of 40 documents, to lay traces on."""
    collection = make_collection(COUNT)
    collection = replace(collection, queries=collection.queries[:1])
    return make_run(tmp_path_factory.mktemp("runs"), "one", [1] * COUNT, collection=collection)


def listing(rank, length=30):
    """Return `length` ids, that of the gold passage at `rank`; 0 leaves it out."""
    others = [f"d{i}" for i in range(1, COUNT)]
    if rank:
        others.insert(rank - 1, "d0")
    return others[:length]


def lay(run, final, placement=None, **lists):
    """Return `run` with other lists, whose names say their kinds."""
    ids = {id_ for listed in (final, *lists.values()) for id_ in listed}
    chunks = {id_: Chunk(id_, id_, 0, 14, "text number 00") for id_ in sorted(ids)}
    trace = tuple(
        StageTrace(name, KINDS.get(name, "stage"), 0.0, tuple((id_, 0.0) for id_ in listed))
        for name, listed in lists.items()
    )
    ranking = Ranking(
        tuple(Hit(chunks[id_], 0.0) for id_ in final),
        trace,
        tuple(chunks[id_] for id_ in chunks if id_ not in final),
    )
    items = {"d0": placement} if placement else {}
    return replace(run, rankings={"q0": ranking}, gold_ranks={"q0": items})


def status(run, k=5):
    (found,) = attribute(run, k).items["q0"]
    return found


# One case a status

DEEP = GoldRank(True, {"dense": 134, "keyword": None})
NOWHERE = GoldRank(True, {"dense": None, "keyword": None})
CASES = {
    "found": (listing(3), None, {"dense": listing(1), "fusion": listing(3)}, "found", ""),
    "found, lifted by a stage": (
        listing(1), None, {"dense": listing(9), "fusion": listing(9), "rerank": listing(1)},
        "found", "",
    ),
    "never in the first k": (
        listing(8), None, {"dense": listing(7), "keyword": listing(0), "fusion": listing(8)},
        "ranked too low", "",
    ),
    "cut off at the end": (
        listing(0), None, {"dense": [f"d{i}" for i in range(COUNT - 1, -1, -1)]},
        "ranked too low", "",
    ),
    "demoted": (
        listing(12), None,
        {"dense": listing(2), "fusion": listing(4), "boost": listing(3), "rerank": listing(12)},
        "demoted", "rerank",
    ),
    "demoted, and lifted too little": (
        listing(7), None, {"dense": listing(2), "boost": listing(20), "rerank": listing(7)},
        "demoted", "boost",
    ),
    "demoted, then removed: the first of the two lost it": (
        listing(0), None, {"dense": listing(2), "rerank": listing(9), "dedup": listing(0)},
        "demoted", "rerank",
    ),
    "filtered from the first k": (
        listing(0), None, {"dense": listing(2), "dedup": listing(0), "rerank": listing(0)},
        "filtered", "dedup",
    ),
    "filtered from further down": (
        listing(0), None, {"dense": listing(20), "dedup": listing(0), "rerank": listing(0)},
        "filtered", "dedup",
    ),
    "lost in fusion, but listed": (
        listing(6), None, {"dense": listing(1), "keyword": listing(0), "fusion": listing(6)},
        "lost in fusion", "",
    ),
    "lost in fusion altogether": (
        listing(0), None, {"dense": listing(1), "keyword": listing(0), "fusion": listing(0)},
        "lost in fusion", "",
    ),
    "two legs and no list of their fusion": (
        listing(9), None, {"dense": listing(1), "keyword": listing(0)}, "lost in fusion", "",
    ),
    "lost in fusion, found by a stage, lost by the next": (
        listing(9), None,
        {"dense": listing(1), "fusion": listing(6), "boost": listing(2), "rerank": listing(9)},
        "demoted", "rerank",
    ),
    "not retrieved": (
        listing(0), DEEP, {"dense": listing(0), "keyword": listing(0), "fusion": listing(0)},
        "not retrieved", "dense at rank 134",
    ),
    "in no leg": (
        listing(0), NOWHERE, {"dense": listing(0), "keyword": listing(0)}, "in no leg", "",
    ),
    "in no chunk": (listing(0), GoldRank(False, {}), {"dense": listing(0)}, "in no chunk", ""),
    "not told": (listing(0), None, {}, "not returned", ""),
    "chunks told, legs not": (listing(0), GoldRank(True, {}), {}, "not returned", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_status(base, case):
    final, placement, lists, wanted, where = CASES[case]
    depth = 39 if case == "cut off at the end" else 100
    run = replace(base, manifest=base.manifest.model_copy(update={"depth": depth}))
    found = status(lay(run, final, placement, **lists))
    assert (found.status, found.where) == (wanted, where)


def test_the_cases_show_every_status():
    assert {case[3] for case in CASES.values()} == set(STATUSES)


def test_ranks_at_each_step_and_beyond_are_told(base):
    lists = {"dense": listing(4), "keyword": listing(0), "fusion": listing(7), "rerank": listing(9)}
    found = status(lay(base, listing(9), GoldRank(True, {"dense": 4, "keyword": 77}), **lists))
    assert found.ranks == {"dense": 4, "keyword": None, "fusion": 7, "rerank": 9, "final": 9}
    assert found.deeper == {"keyword": 77}
    assert found.words == "lost in fusion"
    assert found.trail == "dense 4 · keyword – (deeper: 77) · fusion 7 · rerank 9 · final 9"
    assert status(lay(base, listing(9), dense=listing(4), mmr=listing(9))).words == "demoted by mmr"
    assert status(lay(base, listing(2))).words == "found at rank 2"
    assert status(lay(base, listing(0), DEEP, dense=[])).words == "not retrieved: dense at rank 134"


def test_a_stage_may_put_another_chunk_in_the_place_of_the_one_that_covers(base):
    """Parents take the places of their children: the ranks are those of whatever covers."""
    run = lay(base, ["d1", "parent"], dense=["d1", "d0"], expand=["d1", "parent"])
    ranking = run.rankings["q0"]
    chunks = [
        replace(chunk, doc_id="d0", end=400) if chunk.id == "parent" else chunk
        for chunk in (*(hit.chunk for hit in ranking.hits), *ranking.others)
    ]
    by_id = {chunk.id: chunk for chunk in chunks}
    hits = tuple(replace(hit, chunk=by_id[hit.chunk.id]) for hit in ranking.hits)
    run = replace(run, rankings={"q0": replace(ranking, hits=hits)})
    found = status(run)
    assert (found.status, found.ranks) == ("found", {"dense": 2, "expand": 2, "final": 2})


def test_stages_of_one_name_are_told_apart(base):
    run = lay(base, listing(0), dense=listing(1), boost=listing(2), other=listing(0))
    ranking = run.rankings["q0"]
    trace = tuple(
        replace(entry, name="boost") if entry.kind == "stage" else entry for entry in ranking.trace
    )
    found = status(replace(run, rankings={"q0": replace(ranking, trace=trace)}))
    assert (found.status, found.where) == ("filtered", "boost 2")
    assert list(found.ranks) == ["dense", "boost", "boost 2", "final"]


def test_a_step_that_lists_nothing_for_one_query_is_a_step_there(tmp_path):
    run = make_run(tmp_path, "two", [1, 1], collection=make_collection(2))
    filled, empty = (
        lay(run, listing(0), dense=listed).rankings["q0"] for listed in (listing(1), [])
    )
    found = attribute(replace(run, rankings={"q0": filled, "q1": empty})).items["q1"]
    assert found[0].ranks == {"dense": None, "final": 1}
    without = lay(run, listing(0)).rankings["q0"]
    ceiling, *_ = attribute(replace(run, rankings={"q0": filled, "q1": without})).ceilings
    assert (ceiling.step, ceiling.measures["Hit@1"].value) == ("dense", 0.5)


def test_ranks_are_of_candidates_that_are_listed_once_and_no_self_matches(base):
    found = attribute(lay(base, listing(1), dense=["d1", "d2", "d1", "d0"]), 5)
    assert found.items["q0"][0].ranks == {"dense": 3, "final": 1}
    assert found.ceilings[0].candidates == 3
    facts = base.manifest.collection.model_copy(update={"drop_self_matches": True})
    run = replace(base, manifest=base.manifest.model_copy(update={"collection": facts}))
    with_self = ["d1", "q0", "d2", "d0"]
    found = status(lay(run, ["d1", "d2", "d0"], dense=with_self), k=3)
    assert found.ranks == {"dense": 3, "final": 3}


# Ceilings, by hand


def test_ceilings_are_those_of_a_perfect_order(base):
    gold = {
        "q0": tuple(
            GoldItem("q0", f"d{i}", f"d{i}", 0, 14, grade) for i, grade in enumerate((1, 2, 3))
        )
    }
    run = lay(
        replace(base, gold=gold),
        ["d5", "d1", "d0"],
        dense=["d0", "d5"],
        keyword=["d6", "d1", "d7"],
        fusion=["d5", "d1", "d0"],
    )
    attribution = attribute(run, k=2)
    by_step = {ceiling.step: ceiling for ceiling in attribution.ceilings}
    assert list(by_step) == ["dense", "keyword", UNION, "fusion", "final"]
    assert [by_step[step].candidates for step in by_step] == [2, 3, 5, 3, 3]
    ideal = 3 + 2 / 1.5849625007211562
    values = {
        step: {name: estimate.value for name, estimate in ceiling.measures.items()}
        for step, ceiling in by_step.items()
    }
    assert values["dense"]["nDCG@2"] == pytest.approx(1 / ideal)
    assert values["keyword"]["nDCG@2"] == pytest.approx(2 / ideal)
    assert values[UNION]["nDCG@2"] == pytest.approx((2 + 1 / 1.5849625007211562) / ideal)
    assert values["final"] == values[UNION]
    assert values["dense"]["Recall@2"] == pytest.approx(1 / 3)
    assert values[UNION]["Recall@2"] == pytest.approx(2 / 3)
    assert all(value["Hit@1"] == 1 for value in values.values())
    assert attribution.reached["Hit@1"].value == 0
    assert attribution.reached["nDCG@2"].value == pytest.approx(2 / 1.5849625007211562 / ideal)


# What holds of any run

lists = st.lists(st.integers(0, COUNT - 1), max_size=COUNT, unique=True)
spans = st.tuples(st.integers(0, COUNT * 10 - 1), st.integers(5, 60), st.integers(0, 3))


def make_any(base, golds, numbers):
    """Return a run whose chunks are ten characters each of one document, d0."""
    items = tuple(
        GoldItem("q0", f"d0[{start}:{start + size}]", "d0", start, start + size, grade)
        for start, size, grade in golds
    )
    named = {name: [f"c{i:02}" for i in listed] for name, listed in numbers.items()}
    final = named.pop("final")
    run = lay(base, final[:20], **named)
    ranking = run.rankings["q0"]

    def place(chunk):
        i = int(chunk.id[1:])
        return replace(chunk, doc_id="d0", start=i * 10, end=i * 10 + 10)

    ranking = replace(
        ranking,
        hits=tuple(replace(hit, chunk=place(hit.chunk)) for hit in ranking.hits),
        others=tuple(map(place, ranking.others)),
    )
    gold_ranks = {item.id: GoldRank(True, {"dense": None, "keyword": 60}) for item in items}
    manifest = run.manifest.model_copy(update={"depth": 20})
    return replace(
        run,
        gold={"q0": items},
        rankings={"q0": ranking},
        gold_ranks={"q0": gold_ranks},
        manifest=manifest,
    )


@settings(max_examples=150, deadline=None)
@given(
    st.lists(spans, min_size=1, max_size=5, unique_by=lambda gold: gold[:2]),
    st.fixed_dictionaries(
        dict.fromkeys(("dense", "keyword", "fusion", "dedup", "rerank", "final"), lists)
    ),
    st.integers(1, 25),
)
def test_every_item_has_one_status_and_found_is_recall(base, golds, numbers, k):
    run = make_any(base, golds, numbers)
    attribution = attribute(run, k)
    items = attribution.items["q0"]
    relevant = [item for item in run.gold["q0"] if item.grade > 0]
    assert [item.item for item in items] == relevant
    totals = attribution.totals()
    assert tuple(totals) == STATUSES
    assert sum(totals.values()) == len(relevant)
    for item in items:
        held = any(item.ranks.values())
        absent = {"not retrieved", "in no leg", "in no chunk", "not returned"}
        assert (item.status in absent) != held
        assert bool(item.where) == (item.status in {"demoted", "filtered", "not retrieved"})
    if relevant:
        recall = measures.score([f"Recall@{k}"], run.joined, run.gold)[f"Recall@{k}"]["q0"]
        assert totals["found"] / len(relevant) == pytest.approx(recall)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=6),
    st.fixed_dictionaries(dict.fromkeys(("dense", "keyword", "fusion", "final"), lists)),
)
def test_no_order_beats_the_ceiling_where_chunks_are_items(base, grades, numbers):
    golds = [(i * 10, 10, grade) for i, grade in enumerate(grades)]
    numbers = numbers | {"fusion": numbers["final"]}
    attribution = attribute(make_any(base, golds, numbers), 5)
    by_step = {ceiling.step: ceiling.measures for ceiling in attribution.ceilings}
    for name, reached in attribution.reached.items():
        assert by_step["final"][name].value >= reached.value - 1e-9
        for leg in ("dense", "keyword"):
            if leg in by_step and UNION in by_step:
                assert by_step[UNION][name].value >= by_step[leg][name].value - 1e-9


def test_ceilings_count_an_item_once_and_all_that_a_chunk_covers(base):
    golds = [(0, 5, 1), (5, 5, 2), (10, 20, 3)]  # the first chunk covers two, two cover the third
    (final,) = attribute(make_any(base, golds, {"final": [1, 2, 0]}), 2).ceilings
    assert [estimate.value for estimate in final.measures.values()] == [1, 1, 1]


def test_totals_by_type_add_up(tmp_path):
    collection = make_collection(6, types=["a", "b", ""])
    run = make_run(tmp_path, "typed", [1, 0, 1, 1, 1, 1], collection=collection)
    attribution = attribute(run)
    assert attribution.by_type.keys() == {"a", "b"}
    assert attribution.totals("b") == dict.fromkeys(STATUSES, 0) | {"found": 1, "not returned": 1}


def test_parts_that_tell_only_their_time_are_no_steps(base):
    run = lay(base, listing(0), dense=[], rerank=[])
    assert attribute(run).steps == ("final",)
    assert status(run).status == "not returned"
