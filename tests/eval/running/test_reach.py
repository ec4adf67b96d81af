"""No measure is reported beyond the hits that a run keeps: it keeps more, or that is refused."""

import pytest
from pandas import DataFrame

from assay import run
from assay.eval.configs.config import make_config
from assay.eval.runs.summary.summary import describe_shallow
from assay.eval.scoring.measures import DEFAULT, find_reach
from assay.retrievers.base import AssayError

DOCUMENTS = {f"d{i:03}": f"The {i}th ferry sails." for i in range(150)}
JUDGED = {
    "documents": DOCUMENTS,
    "queries": {"q1": "ferry", "q2": "sails"},
    "judgments": {"q1": {"d010": 1, "d120": 1}, "q2": {"d020": 1}},
}


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))


def judge(what, **options):
    return run(what, collection=JUDGED, track=False, **options)


def give_all(query, k):
    return list(DOCUMENTS)[:k]


def resolve(legs, **values):
    kinds = {name: {"type": "bm25", "depth": depth} for name, depth in legs.items()}
    fusion = {"fusion": {"type": "rrf"}} if len(legs) > 1 else {}
    retriever = {"type": "pipeline", "legs": kinds, **fusion}
    return make_config({"name": "test", "retriever": retriever, **values}, (), "test.yaml")


def test_no_measure_looks_further_than_the_hits_that_are_kept():
    found = judge(give_all, measures=["Recall@130", "nDCG@10"])
    assert found.stored.manifest.depth == 130
    assert found.tables["measures"].loc["Recall@130", "mean"] == 1
    with pytest.raises(AssayError, match=r"depth: 100 hits .* Recall@130 looks at 130; allowed"):
        judge(give_all, measures=["Recall@130"], depth=100)
    with pytest.raises(AssayError, match=r"test.yaml: depth: 50 hits .* nDCG@60 looks at 60"):
        resolve({"a": 100}, depth=50, measures=["nDCG@60"])
    assert find_reach(judge(give_all, depth=5).stored.measures) == 5
    for config in (resolve({"a": 100}, depth=5), resolve({"a": 5})):
        assert config.measures == [name for name in DEFAULT if name in config.measures]
        assert find_reach(config.measures) == 5
    assert resolve({"a": 100}).measures == list(DEFAULT)


def test_legs_hand_on_as_many_as_a_measure_looks_at_or_it_is_refused():
    config = resolve({"a": 100}, measures=["Recall@1000"])
    assert (config.depth, config.retriever.legs["a"].depth) == (1000, 1000)
    way = r"no leg hands on more than 100; .* retriever.legs.a.depth=200 retriever.legs.b.depth=200"
    with pytest.raises(AssayError, match=way):
        resolve({"a": 100, "b": 60}, measures=["Recall@200"])
    assert resolve({"a": 100, "b": 200}, measures=["Recall@200"]).depth == 200


def test_a_stored_run_is_not_judged_further_than_it_goes():
    found = judge(give_all)
    with pytest.raises(AssayError, match="100 hits of a query are kept, and Recall@130 looks at"):
        found.stored.score(["Recall@130"])
    assert found.stored.score(["Recall@100"])["Recall@100"] == {"q1": 0.5, "q2": 1}


def test_rankings_and_legs_that_end_before_a_measure_are_told_of():
    hits = list(DOCUMENTS)[:50]
    rows = [{"qid": q, "docno": d, "score": -i} for q in ("q1", "q2") for i, d in enumerate(hits)]
    told = judge(DataFrame(rows), measures=["Recall@100"]).found.shallow
    assert told.startswith("No ranking has more than 50 hits, and Recall@100 looks at 100")
    assert judge(DataFrame(rows), measures=["Recall@50"]).found.shallow == ""
    assert judge(DataFrame(rows[:-1]), measures=["Recall@100"]).found.shallow == ""
    legs = {"a": {"type": "bm25", "depth": 30}}
    config = {"name": "t", "retriever": {"type": "pipeline", "legs": legs}}
    found = judge(config, measures=["nDCG@10"]).stored
    assert describe_shallow(found, ["nDCG@10"]) == ""
    assert describe_shallow(found, ["P@5", "Recall@50"]).startswith(
        "No leg hands on more than 30 hits, and Recall@50 looks at 50"
    )
