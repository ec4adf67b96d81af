"""Runs that return unequal amounts of text: every face says so before it calls one better."""

import json

import pytest

from assay.eval.api import compare, run
from assay.eval.cli.demo import print_comparison
from assay.eval.runs.json_form import to_json
from assay.eval.runs.summary.returned_tokens import describe_tokens
from assay.eval.runs.summary.summary import summarise
from assay.eval.studies.comparison.page import write
from assay.eval.studies.comparison.page.view import make_view
from assay.eval.studies.comparison.record import describe_comparison

SIZE = 2_100  # words of a document, of which the answer is one
DOCUMENTS = {f"d{i}": f"word{i} " + "filler " * (SIZE - 1) for i in range(12)}
COLLECTION = {
    "name": "long",
    "documents": DOCUMENTS,
    "queries": {f"q{i}": f"word{i}" for i in range(12)},
    "judgments": {f"q{i}": [{"doc_id": f"d{i}", "start": 0, "end": 5}] for i in range(12)},
}
LEAD = "Unequal amounts of text: the first 10 hits hold "


def whole(query, k):
    """Return whole files, the right one first."""
    return sorted(DOCUMENTS, key=lambda id_: not DOCUMENTS[id_].startswith(f"{query} "))[:k]


def cut(query, k):
    """Return the first words of files, the right one second."""
    right, *others = whole(query, k)
    return [(id_, 0, 40, -float(i)) for i, id_ in enumerate([others[0], right, *others[1:]])]


@pytest.fixture
def compared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return compare([cut, whole], collection=COLLECTION, measures=["nDCG@10"])


def test_every_face_leads_with_it(compared, tmp_path, capsys):
    found = compared.found
    lead, conclusion = found.verdict
    assert lead.startswith(LEAD)
    assert lead.endswith("Recall within 2,000 tokens is 0.000 (whole) and 1.000 (cut).")
    assert conclusion.startswith("whole is better than cut")
    assert compared.verdict.startswith(f"{lead}\nwhole is better than cut")
    assert compared.verdict in repr(compared)
    assert compared._repr_html_().index(LEAD) < compared._repr_html_().index("is better than")
    print_comparison(found)
    assert capsys.readouterr().out.startswith(LEAD)
    assert to_json(found)["verdict"][0] == lead
    page = write(found, tmp_path)
    for file in (page, page.with_name("report.md")):
        text = file.read_text()
        assert text.index(LEAD) < text.index("is better than")
    assert json.loads(page.with_name("comparison.json").read_text())["verdict"][0] == lead
    assert describe_comparison(found).index(LEAD) < describe_comparison(found).index("is better")
    assert make_view(found).verdict == (lead,)


def test_of_three_runs_all_are_named(compared):
    def other(query, k):
        return cut(query, k)

    ranked = compare([cut, whole, other], collection=COLLECTION, measures=["nDCG@10"])
    lead, ranking, *_ = ranked.found.verdict
    assert lead.startswith(LEAD)
    assert all(f"({name})" in lead for name in ("cut", "whole", "other"))
    assert ranking.startswith("whole is the best of 3")


@pytest.mark.parametrize(("words", "told"), [(900, False), (910, True)])
def test_half_as_much_again_is_told(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    documents = {"short": "word " * 600, "long": "word " * words}
    collection = {"documents": documents, "queries": {"q": "x"}, "judgments": {"q": {"short": 1}}}
    runs = [
        run({"q": [id_]}, collection=collection, track=False, name=id_).stored for id_ in documents
    ]
    measures = ["Tokens@10", "Recall@2000tok"]
    means = [summarise(stored, measures).means for stored in runs]
    assert bool(describe_tokens(["short", "long"], means)) == told


def test_runs_that_keep_few_hits_are_compared_by_these():
    collection = {
        "documents": {"long": "ferry " * 300, "short": "ferry"},
        "queries": {"q1": "ferry", "q2": "the ferry"},
        "judgments": {"q1": {"long": 1}, "q2": {"short": 1}},
    }
    rankings = ({"q1": ["long"], "q2": ["long"]}, {"q1": ["short"], "q2": ["short"]})
    runs = [
        run(ranking, collection=collection, name=name, depth=1, track=False)
        for ranking, name in zip(rankings, ("wide", "narrow"), strict=True)
    ]
    verdict = compare(*runs, measures=["Hit@1"]).verdict
    assert verdict.startswith("Unequal amounts of text: the first 1 hits hold ")
