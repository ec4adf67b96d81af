"""What can be run from Python: functions, objects, rankings and configs of every form."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame
from samples.planned_runs import Whole
from tools.processes import ROOT

from assay import compare, run, search
from assay.eval.collections.in_memory import make_collection
from assay.eval.collections.loading import load
from assay.eval.configs.config import load_config
from assay.retrievers.base import AssayError, Hit, Ranking
from assay.retrievers.base.answers import read_answer

DOCUMENTS = {
    "d1": "The ferry sails twice a day.",
    "d2": "Dogs travel on the open deck.",
    "d3": "Bicycles are free of charge.",
}
QUERIES = {"q1": "when does the ferry sail", "q2": "dogs"}
HARBOUR = {
    "documents": DOCUMENTS,
    "queries": QUERIES,
    "judgments": {"q1": {"d1": 1}, "q2": {"d2": 2}},
}
ANSWERS = {"when does the ferry sail": ["d1", "d2"], "dogs": ["d3", "d2"]}


@pytest.fixture(scope="module", autouse=True)
def places(tmp_path_factory):
    """The project's root, with reports and tracking in a folder of their own."""
    folder = tmp_path_factory.mktemp("experiments")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("ASSAY_REPORTS", str(folder / "reports"))
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
        yield


def answer(query, k):
    return [(id_, 1 / rank) for rank, id_ in enumerate(ANSWERS[query], start=1)][:k]


class Lookup(Whole):
    """Whole documents, by a table of answers."""

    def __init__(self, answers):
        self.answers = answers

    def search(self, query, k):
        chunks = {chunk.id: chunk for chunk in self._chunks}
        found = self.answers[query][:k]
        return Ranking(tuple(Hit(chunks[id_], -float(i)) for i, id_ in enumerate(found)))


def test_all_that_answers_alike_scores_alike():
    rankings = {id_: answer(QUERIES[id_], 10) for id_ in QUERIES}
    rows = [(id_, *hit) for id_, hits in rankings.items() for hit in hits]
    frame = DataFrame(rows, columns=["qid", "docno", "score"])
    ranked = frame.assign(rank=frame.groupby("qid").cumcount()).drop(columns="score")
    systems = [
        answer,
        Lookup(ANSWERS),
        rankings,
        frame,
        ranked,
        lambda query, k: dict(answer(query, k)),
    ]
    compared = compare(
        systems, collection=HARBOUR, measures=["Hit@1", "MRR@10"], names=list("abcdef")
    )
    means = compared.tables["measures"]
    assert list(means.index) == list("abcdef")
    assert (means["MRR@10"] == 0.75).all()
    assert list(compared.per_query("MRR@10")["a"]) == [1, 0.5]


@pytest.mark.parametrize(
    "given",
    [
        {"d2": 1.0, "d1": 2},
        [("d1", np.float32(1)), ("d2", np.int64(2)), ("d1", 3)],
        ["d1", "d2"],
        [{"id": "d1", "score": 2}, {"doc_id": "d2", "score": 1}],
        [{"docno": "d1"}, {"docno": "d2"}],
        [("d1", None), {"docno": "d2", "score": 7}],
    ],
)
def test_answers_in_every_form(given):
    assert [place for place, _ in read_answer(given)] == ["d1", "d2"]


def test_the_order_given_stands_and_the_first_of_the_same_places():
    given = [("d1", 1), ("d3", 1), ("d2", 0, 4, 9), ("d1", 9)]
    assert read_answer(given) == [("d1", 1), ("d3", 1), (("d2", 0, 4), 9)]
    assert read_answer({"d1": 1, "d3": 1, "d2": 9}) == [("d2", 9), ("d1", 1), ("d3", 1)]
    # One that has no score leaves none to the others.
    assert read_answer(["d1", ("d2", 7)]) == [("d1", 1), ("d2", 0.5)]
    with pytest.raises(AssayError, match="d1: the score None is not a finite number"):
        read_answer({"d1": None})


@pytest.mark.parametrize(
    ("what", "kind", "name"),
    [
        (answer, "function", "answer"),
        (partial(answer), "function", "answer"),
        (Lookup(ANSWERS), "object", "Lookup"),
    ],
)
def test_code_is_named_and_measured_anew(what, kind, name):
    first = run(what, collection=HARBOUR, track=False)
    facts = first.stored.manifest.facts[kind]
    assert facts["name"] == f"test_experiment.{name}"
    assert len(facts["source"]) == 64
    assert run(what, collection=HARBOUR, track=False).id != first.id


def test_a_run_of_a_class_is_found_again_until_a_helper_of_it_is_edited(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_factor.py").write_text("FACTOR = 1\n")
    (tmp_path / "own_kind.py").write_text(
        "import own_factor\nfrom assay.retrievers.base import Ranking\n"
        "from samples.planned_runs import Whole\n\n\nclass Mine(Whole):\n"
        "    def search(self, query, k):\n        return Ranking(())\n"
    )
    config = {"name": "own", "retriever": {"type": "python", "class": "own_kind:Mine"}}
    first = run(config, collection=HARBOUR, track=False)
    assert run(config, collection=HARBOUR, track=False).id == first.id
    (tmp_path / "own_factor.py").write_text("FACTOR = 2\n")
    assert run(config, collection=HARBOUR, track=False).id != first.id


def test_configs_in_every_form_are_one_run():
    small = load("harbourline")
    by_name = run("bm25", "limit=4", "dataset=harbourline", track=False)
    forms = [
        run(Path("configs/bm25.yaml"), collection="harbourline", limit=4, track=False),
        run({"base": "bm25", "limit": 4}, collection=small, track=False),
        run(load_config(Path("configs/bm25.yaml")), collection=small, limit=4, track=False),
        run(by_name.config, collection="harbourline", track=False),
    ]
    assert {form.id for form in forms} == {by_name.id}
    again = run("bm25", collection="harbourline", limit=4, track=False, rerun=True)
    command = again.stored.manifest.environment["command"]
    assert command == ["assay", "run", "configs/bm25.yaml", "limit=4", "dataset=harbourline"]


def test_options_are_those_of_a_config():
    made = make_collection(**HARBOUR)
    for what in ("bm25", answer, {"q1": ["d1"]}):
        result = run(
            what, collection=made, name="mine", depth=1, limit=1, measures=["Hit@1"], track=False
        )
        assert (result.name, list(result.tables["measures"].index)) == ("mine", ["Hit@1"])
        assert result.config["dataset"] == "in-memory"
        assert result.stored.manifest.depth == len(result.stored.queries) == 1


def test_a_run_file_is_run(tmp_path):
    path = tmp_path / "theirs.trec"
    path.write_text("q1 Q0 d1 1 2.0 theirs\nq2 Q0 d2 1 1.0 theirs\n")
    result = run(path, collection=HARBOUR, track=False)
    assert result.name == "theirs"
    assert compare(path, answer, collection=HARBOUR).found.base.run.manifest.id == result.id
    path.write_text("q1 Q0 d1 1 2.0 theirs\nq2 Q0 d2 1 1.0 ours\n")
    with pytest.raises(AssayError, match=r"several systems \(theirs, ours\)"):
        run(str(path), collection=HARBOUR)


def test_search_tells_hits_spans_and_steps():
    found = search("bm25", "dogs on deck", documents=DOCUMENTS, k=1)
    assert list(found.hits["document"]) == ["d2"]
    assert list(found.hits["rank.keyword"]) == [1]
    assert "keyword" in found.trace.index
    assert "d2" in found._repr_html_()
    assert search(answer, "dogs", collection=HARBOUR).hits["end"].tolist() == [28, 29]
    assert repr(search("bm25", "zzz", documents=DOCUMENTS)).endswith("nothing is found")


def fail(query, k):
    raise ValueError("no\nsuch index")


def test_a_failing_function_is_told_with_its_query():
    with pytest.raises(AssayError) as told:
        run(fail, collection=HARBOUR)
    message = "test_experiment.fail: query 'when does the ferry sail': ValueError: no such index"
    assert str(told.value) == message
    assert isinstance(told.value.__cause__, ValueError)
    with pytest.raises(
        AssayError, match=r"test_experiment\.Lookup: query 'dogs': KeyError: 'dogs'"
    ):
        run(Lookup({QUERIES["q1"]: []}), collection=HARBOUR)


WRONG = {
    "d9 is neither a passage": lambda: run(lambda query, k: [("d9", 1)], collection=HARBOUR),
    "None is no list of hits": lambda: run(lambda query, k: None, collection=HARBOUR),
    "the score nan is not": lambda: run(
        lambda query, k: [("d1", float("nan"))], collection=HARBOUR
    ),
    "is no hit; allowed": lambda: run(lambda query, k: [("d1", 0, 1)], collection=HARBOUR),
    "span 0 to 99 is not": lambda: run(lambda query, k: [("d1", 0, 99, 1)], collection=HARBOUR),
    "too many positional": lambda: run(lambda query: [], collection=HARBOUR),
    r"a class; give an object, Lookup\(": lambda: run(Lookup, collection=HARBOUR),
    "a int cannot be run; allowed": lambda: run(3, collection=HARBOUR),
    "rankings: query q1: d9 is": lambda: run({"q1": ["d9"], "q2": []}, collection=HARBOUR),
    "none of its queries.*there is no query": lambda: run({"q9": ["d1"]}, collection=HARBOUR),
    "rankings: empty": lambda: run({}, collection=HARBOUR),
    "DataFrame needs the columns": lambda: run(DataFrame({"a": [1]}), collection=HARBOUR),
    "config: retriever: missing": lambda: run({"name": "x"}, collection=HARBOUR),
    "config: retriver: unknown key": lambda: run({"base": "bm25", "retriver": {}}),
    "no such config": lambda: run({"base": "bm52"}),
    "collection: must be a name": lambda: run(answer, collection={"documents": {}}),
    "there is no such collection": lambda: run(answer, collection="nowhere"),
    "an override changes a config": lambda: run(answer, "depth=3", collection=HARBOUR),
    "'../x' cannot name a run": lambda: run(answer, collection=HARBOUR, name="../x"),
    "depth: must be a whole number": lambda: run(answer, collection=HARBOUR, depth=0),
    "not a measure": lambda: run(answer, collection=HARBOUR, measures=["nonsense"]),
    "names: there are 1 for 2": lambda: compare(answer, fail, names=["a"]),
    "documents: allowed without": lambda: search(answer, "x", collection="x", documents={}),
    "k: must be a whole number": lambda: search(answer, "x", documents=DOCUMENTS, k=0),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_wrong_is_told_in_one_line(message):
    with pytest.raises(AssayError, match=message) as told:
        WRONG[message]()
    assert "\n" not in str(told.value)


PADDED = {
    "documents": {"d1": "apples", "d2": "bread"},
    "queries": {"007": "apples", "q2": "bread"},
    "judgments": {"007": {"d1": 1}, "q2": {"d2": 1}},
}


@pytest.mark.parametrize(
    ("id_", "says"),
    [
        ("7", 'no query "7" but "007": the files differ by leading zeros'),
        ("7.0", 'no query "7.0" but "007": the files differ by leading zeros'),
        ("x", 'there is no query "x"; the first one there is "007"'),
    ],
)
def test_a_ranking_of_unknown_ids_is_refused_with_a_hint(id_, says):
    what = {id_: ["d1"], "q2": ["d2"]}
    with pytest.raises(AssayError, match=r"1 of the 2 queries .* the first 007") as caught:
        run(what, collection=PADDED, track=False)
    assert says in str(caught.value)


def test_numbers_in_a_table_are_refused_as_ids_of_text():
    judged = {**PADDED, "queries": {"7": "apples"}, "judgments": {"7": {"d1": 1}}}
    frame = DataFrame({"qid": [7.0], "docno": ["d1"], "score": [1.0]})
    with pytest.raises(AssayError, match=r'no query "7\.0" but "7": one file has it as a number'):
        run(frame, collection=judged, track=False)
    with pytest.raises(AssayError, match="query 7 has a ranking already"):
        run({7: ["d1"], "7": ["d2"]}, collection=PADDED, track=False)


def test_extra_queries_of_a_ranking_are_named(capsys):
    what = {"007": ["d1"], "q2": [], "q9": ["d1"]}
    found = run(what, collection=PADDED, measures=["Hit@1"], track=False)
    assert found.tables["measures"].loc["Hit@1", "mean"] == 0.5
    assert 'passed over: there is no query "q9"' in capsys.readouterr().err
