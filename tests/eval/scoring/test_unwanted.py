"""Documents that must not be returned: their share, its direction everywhere, what is refused."""

import pytest
from samples.collection_folders import write_native

from assay import compare, run
from assay.eval.collections.card import Card
from assay.eval.collections.catalog import find_card
from assay.eval.collections.check import check
from assay.eval.collections.in_memory import make_collection
from assay.eval.collections.loading import load
from assay.eval.collections.unwanted import find_unwanted
from assay.eval.studies.gate.baseline import make
from assay.eval.studies.gate.rule import judge
from assay.eval.studies.gate.sentences import announce, list_verdicts
from assay.eval.studies.gate.settings import GateSettings
from assay.retrievers.base import AssayError, Document

COUNT = 40
SETTINGS = GateSettings(measures={"Unwanted@3": 0.02, "nDCG@10": 0.02})
BOTH = ["nDCG@10", "Unwanted@3"]


@pytest.fixture
def collection(tmp_path, monkeypatch):
    """A page of today and an old one on each of 40 subjects, of which today's answers."""
    monkeypatch.chdir(tmp_path)
    numbers = range(COUNT)
    texts = {f"{i}.md": f"subject{i} as it is\n" for i in numbers}
    texts |= {f"old/{i}.md": f"subject{i} as it was\n" for i in numbers}
    queries = [{"_id": f"q{i}", "text": f"{i}"} for i in numbers]
    span = {"start": 0, "end": 15, "grade": 1}
    gold = [{"query_id": f"q{i}", "path": f"{i}.md", **span} for i in numbers]
    write_native(tmp_path / "datasets" / "mine", texts, queries, gold, unwanted=["old/*"])
    return "mine"


def current(query, k):
    return [f"{query}.md", f"{(int(query) + 1) % COUNT}.md"][:k]


def mixed(query, k):
    """Return the answer, its old page, and for every fourth question another old one."""
    return [f"{query}.md", f"old/{query}.md", *(["old/0.md"] if int(query) % 4 == 1 else [])][:k]


def test_the_share_is_reported_tested_and_gated_as_one_to_lower(collection):
    before, after = (
        run(what, collection=collection, track=False, measures=BOTH) for what in (current, mixed)
    )
    # One of two for 30 questions, two of three for 10.
    assert before.found.means["Unwanted@3"].value == 0
    assert after.found.means["Unwanted@3"].value == pytest.approx((30 / 2 + 10 * 2 / 3) / COUNT)
    found = compare([current, mixed], collection=collection, track=False)
    by_measure = {item.measure: item for item in found.found.pairs[0].differences}
    assert by_measure["Unwanted@10"].verdict == "worse"
    assert by_measure["nDCG@10"].difference.value == 0
    (back,) = compare([mixed, current], collection=collection, track=False).found.pairs
    better = next(item for item in back.differences if item.measure == "Unwanted@10")
    assert (better.verdict, better.wins, better.losses) == ("better", COUNT, 0)
    accepted = make(before.stored, [*BOTH, "Hit@10"])
    report = judge(accepted, after.stored, SETTINGS)
    share = report.measures[0]
    assert (share.verdict, share.losses, report.verdict) == ("regression", COUNT, "regression")
    assert share.difference.value == pytest.approx(share.head - share.base)
    assert share.difference.value == pytest.approx(0.5417, abs=1e-4)
    assert 0 < share.difference.low <= share.difference.value <= share.difference.high
    assert announce(report).startswith("Regression: Unwanted@3 rose by 0.542; ")
    assert "a rise of 0.02 matters" in list_verdicts(report)[0].sentence
    assert report.losers[0].head == pytest.approx(2 / 3)
    assert judge(make(after.stored, [*BOTH, "Hit@10"]), before.stored, SETTINGS).verdict == "pass"


def test_it_is_added_where_the_card_names_such_documents(collection):
    config = {"name": "words", "dataset": collection, "latency": {"queries": 0},
              "retriever": {"legs": {"words": {"type": "bm25"}}}}  # fmt: skip
    assert {"Unwanted@10", "nDCG@10"} < run(config, track=False).found.means.keys()
    config["measures"] = ["nDCG@10"]
    assert run(config, track=False).found.means.keys() == {"nDCG@10"}


METADATA = {"old": {"status": "deprecated"}, "new": {"status": "current"}, "a[1]": {}}
DOCUMENTS = tuple(Document(id_, "text", metadata=of) for id_, of in METADATA.items())


@pytest.mark.parametrize(
    ("unwanted", "found"),
    [
        (None, set()),
        (["old", "a[1]"], {"old", "a[1]"}),
        (["*"], set(METADATA)),
        (["n*", "*d"], {"new", "old"}),
        ({"field": "status", "equals": "deprecated"}, {"old"}),
        ({"not": {"field": "status", "exists": True}}, {"a[1]"}),
        (["older*"], "unwanted: no document is named older*; allowed: ids of documents, such as"),
        (["a[0-9]"], "unwanted: no document is named a[0-9]"),
        ({"field": "status", "equals": "x"}, "unwanted: no document meets the filter"),
        ({"field": "state", "equals": "x"}, "unwanted: no such field: state; allowed: status"),
        ({"status": "deprecated"}, "unwanted: "),
        ([], "unwanted"),
    ],
)
def test_they_are_named_by_id_or_filter(unwanted, found):
    values = {"name": "x", "title": "X", "format": "native", "fields": {"status": "text"}}

    def find():
        return find_unwanted(Card(**values, unwanted=unwanted), DOCUMENTS)

    if isinstance(found, set):
        assert find() == found
    else:
        with pytest.raises((AssayError, ValueError)) as raised:
            find()
        assert found in str(raised.value)


def test_a_collection_that_names_none_has_no_share():
    judged = {"documents": {"a": "b"}, "queries": {"q": "b"}, "judgments": {"q": ["a"]}}
    with pytest.raises(AssayError, match="Unwanted@5: the card of in-memory names no documents"):
        run(lambda query, k: ["a"], collection=judged, measures=["Unwanted@5"], track=False)


def test_another_list_is_another_collection_and_a_check_finds_what_it_names_in_vain(
    collection, tmp_path
):
    first = load(collection).digest
    card = tmp_path / "datasets" / "mine" / "dataset.yaml"
    card.write_text(card.read_text().replace("old/*", "old/1*"))
    assert len(load(collection).unwanted) == 11
    assert load(collection).digest != first
    assert make_collection({"a": "b"}, {"q": "b"}, {"q": ["a"]}).unwanted == set()
    card.write_text(card.read_text().replace("old/1*", "old/1.m"))
    (problem,) = [item for item in check(find_card("mine")) if item.severity == "error"]
    assert str(problem).startswith(f"{card}: error: unwanted: no document is named old/1.m; ")
    assert str(problem).endswith("; did you mean old/1.md?")
