"""Collections made of Python objects: every form, every fault, and BEIR's folders beside them."""

import json
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas import NA, DataFrame
from samples.collection_folders import write_beir

from assay.eval.collections.card import MODEL
from assay.eval.collections.in_memory import make_collection
from assay.eval.collections.loading import load
from assay.eval.running.experiment import make_experiment
from assay.eval.runs.execution.unstored import score_queries
from assay.retrievers.base import AssayError, Quiet

DOCUMENTS = {"d1": "The ferry sails twice a day.", "d2": "Dogs travel on the open deck."}
QUERIES = {"q1": "when does the ferry sail", "q2": "dogs"}
JUDGMENTS = {"q1": {"d1": 1}, "q2": {"d2": 2, "d1": 0}}


@pytest.mark.parametrize(
    ("documents", "queries", "judgments"),
    [
        (
            {"d1": {"text": DOCUMENTS["d1"]}, "d2": {"text": DOCUMENTS["d2"], "title": ""}},
            {"q1": {"text": QUERIES["q1"]}, "q2": {"query": QUERIES["q2"], "type": ""}},
            {"q1": ["d1"], "q2": [("d2", 2), {"doc_id": "d1", "relevance": 0}]},
        ),
        (
            DataFrame({"_id": list(DOCUMENTS), "text": list(DOCUMENTS.values())}),
            DataFrame({"qid": list(QUERIES), "query": list(QUERIES.values())}),
            DataFrame(
                {"qid": ["q1", "q2", "q2"], "docno": ["d1", "d2", "d1"], "label": [1.0, 2.0, 0.0]}
            ),
        ),
        (
            DataFrame({"doc_id": list(DOCUMENTS), "text": list(DOCUMENTS.values())}).set_index(
                "doc_id"
            ),
            [{"query_id": id_, "text": text} for id_, text in QUERIES.items()],
            DataFrame(
                {
                    "query_id": ["q1", "q2", "q2"],
                    "corpus-id": ["d1", "d2", "d1"],
                    "score": [1, 2, 0],
                    "start": [None, NA, float("nan")],
                }
            ),
        ),
    ],
)
def test_every_form_gives_the_same_collection(documents, queries, judgments):
    plain = make_collection(DOCUMENTS, QUERIES, JUDGMENTS)
    assert plain.digest == make_collection(documents, queries, judgments).digest
    assert plain.prescribed == {"d1", "d2"}


def test_the_digest_is_that_of_lines_of_json():
    hostile = 'a"\\\n\t\x7f\u2028é😀'
    made = make_collection({hostile: "Ferry"}, {hostile: "When?"}, {hostile: [(hostile, 0, 5, 2)]})
    (item,) = made.gold[hostile]
    for judge, more in (("", []), ("person x", []), ("model x", [MODEL])):
        judged = replace(made, gold={hostile: (replace(item, judged_by=judge),)})
        parts = [
            ["document", hostile, "", "Ferry", [], [], {}],
            ["query", hostile, "When?", ""],
            ["gold", hostile, f"{hostile}[0:5]", hostile, 0, 5, 2, "", *more],
            ["options", False],
        ]
        lines = "".join(json.dumps(part, ensure_ascii=False) + "\n" for part in parts)
        assert judged.digest == sha256(lines.encode()).hexdigest()


def test_spans_and_quotes_leave_the_cutting_to_pipelines():
    judged = {"q1": "sails  TWICE", "q2": [("d2", 0, 4, 3), ("d1", 4, 9)]}
    made = make_collection(DOCUMENTS, QUERIES, judged, name="spans")
    assert made.passages == 0
    assert [item.id for item in made.gold["q1"]] == ["d1[10:21]"]
    assert [(item.id, item.grade) for item in made.gold["q2"]] == [("d2[0:4]", 3), ("d1[4:9]", 1)]
    framed = DataFrame(
        {
            "query_id": ["q1", "q2", "q2"],
            "doc_id": ["d1", "d2", "d1"],
            "start": [10, 0, 4.0],
            "end": [21, 4, 9],
            "grade": [1, 3, 1],
        }
    )
    assert make_collection(DOCUMENTS, QUERIES, framed).digest == made.digest


def test_ids_may_be_numbers_and_unjudged_queries_go():
    made = make_collection({1: "one ferry", 2: "two"}, {7: "ferry", 8: "x"}, {7: {1: True}})
    assert [query.id for query in made.queries] == ["7"]
    assert made.gold["7"][0].grade == 1


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"documents": {}}, "documents: there are none"),
        ({"documents": {"d1": " "}}, "documents['d1']: document \"d1\" has no text"),
        ({"documents": {"d1": None}}, "documents['d1']: \"text\" is None"),
        ({"documents": {"d1": 3}}, '"text" must be a string, not a whole number'),
        ({"documents": {"d1": "\ud800"}}, "half a surrogate pair"),
        ({"documents": {"d1": {"text": "x", "metadata": {"x": {1}}}}}, "of JSON values"),
        ({"documents": "docs/"}, "documents: must be a mapping, a DataFrame or rows, not str"),
        ({"documents": {1: "a", "1": "b"}}, 'document id "1" is taken'),
        ({"documents": DataFrame({"_id": [1, 1], "text": "ab"})}, "documents:2: document id"),
        ({"documents": DataFrame({"text": ["a"]})}, "documents:1: doc_id is missing; allowed"),
        ({"documents": ["a"]}, "documents:1: doc_id is missing"),
        ({"queries": {"q1": ""}}, "queries['q1']: query \"q1\" has no text"),
        ({"queries": DataFrame({"qid": ["a"], "query": [float("nan")]})}, '"query" is nan'),
        ({"judgments": {}}, "judgments: there are none"),
        ({"judgments": {"q9": {"d1": 1}}}, "judgments['q9']['d1']: there is no query \"q9\""),
        ({"judgments": {"q1": {"d9": 1}}}, 'there is no document "d9"'),
        ({"judgments": {"q1": {"d1": float("nan")}}}, '"grade" is nan'),
        ({"judgments": {"q1": {"d1": 1.5}}}, '"grade" must be a whole number'),
        ({"judgments": {"q1": {"d1": "high"}}}, '"grade" must be a whole number'),
        ({"judgments": {"q1": [("d1", 0, 99, 1)]}}, "judgments['q1'][0]: span 0 to 99 is not"),
        ({"judgments": {"q1": [("d1", 5, 5, 1)]}}, "span 5 to 5 is not within"),
        ({"judgments": {"q1": [("d1", 3, 4, 1)]}}, "nothing but white space"),
        ({"judgments": {"q1": ["no such words"]}}, "is neither a document nor found in any"),
        ({"judgments": {"q1": ["e"]}}, "places (d1 2–3, d1 5–6"),
        ({"judgments": {"q1": [1]}}, "1 is no judgment; allowed: a document's id, a quote"),
        ({"judgments": {"q1": [("d1", 0, 5, 1), ("d1", 0, 5, 2)]}}, "one text must have one grade"),
        ({"judgments": DataFrame({"qid": ["q1"]})}, "judgments:1: no document is named"),
        ({"name": "../x"}, "name: '../x' cannot name a collection"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_row(changed, told):
    good = {"documents": DOCUMENTS, "queries": QUERIES, "judgments": JUDGMENTS}
    with pytest.raises(AssayError) as raised:
        make_collection(**(good | changed))
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


WORDS = st.lists(st.sampled_from(["ferry", "dogs", "deck", "sails", "winter"]), min_size=1)
TEXTS = st.lists(WORDS.map(" ".join), min_size=1, max_size=6)


@st.composite
def collections(draw):
    """Documents, queries, and judgments of whole documents."""
    documents = {f"d{number}": text for number, text in enumerate(draw(TEXTS))}
    queries = {f"q{number}": text for number, text in enumerate(draw(TEXTS))}
    grades = st.dictionaries(st.sampled_from(sorted(documents)), st.integers(0, 3), min_size=1)
    return documents, queries, {query: draw(grades) for query in queries}


@given(collections())
def test_what_goes_in_comes_out(given_):
    documents, queries, judgments = given_
    made = make_collection(documents, queries, judgments)
    assert {item.id: item.text for item in made.documents} == documents
    assert {query.id: query.text for query in made.queries} == queries
    out = {id_: {item.doc_id: item.grade for item in gold} for id_, gold in made.gold.items()}
    assert out == judgments


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(given_=collections())
def test_it_is_what_a_folder_in_beirs_layout_is(given_, tmp_path_factory):
    folder = tmp_path_factory.mktemp("beir")
    write_beir(folder, *given_)
    documents, queries, judgments = given_
    made, read = make_collection(documents, queries, judgments), load(str(folder))
    assert made.digest == read.digest
    scores = []
    for collection in (made, read):
        with make_experiment("bm25", (), collection, {}, Quiet()).build() as retriever:
            retriever.index(collection.documents)
            found = score_queries(retriever, collection, collection.queries, "nDCG@10", 10)
            scores.append(found)
    assert scores[0] == scores[1]
