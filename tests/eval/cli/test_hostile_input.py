"""Values that no person writes: refused in one line, or read."""

import json
import shutil

import pytest

from assay.eval.collections.authoring.questions import read_questions
from assay.eval.collections.formats.reading import read_jsonl, read_trec_qrels
from assay.eval.collections.problems import Problems
from assay.eval.configs.config import make_config, make_schema
from assay.eval.runs.run_folder import RunFolder
from assay.retrievers.base import AssayError, Ranking

LEG = {"type": "bm25"}
BASE = {"name": "x", "retriever": {"legs": {"words": LEG}}}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("depth", 2_000_000_000),
        ("limit", 10**30),
        ("retriever.legs.words.depth", 2_000_000_000),
        ("retriever.legs.words.k1", float("inf")),
        ("retriever.legs.words.b", float("nan")),
        ("retriever.legs.words.k1", 1e300),
        ("retriever.fusion", {"type": "rrf", "k": 2_000_000_000}),
        ("latency.seconds", float("inf")),
    ],
)
def test_a_number_out_of_bounds_is_refused(key, value):
    given = json.loads(json.dumps(BASE))
    *path, last = key.split(".")
    place = given
    for name in path:
        place = place.setdefault(name, {})
    place[last] = value
    with pytest.raises(AssayError, match=key.replace(".", r"\.")):
        make_config(given, (), "x.yaml")


def test_the_schema_states_the_bounds():
    assert make_schema()["properties"]["depth"]["maximum"] == 1_000_000


def find_problems(path, line):
    path.write_text(f"{line}\n")
    problems = Problems(strict=False)
    read = read_trec_qrels if path.suffix == ".txt" else read_jsonl
    for row in read(path, problems):
        with problems.of(row):
            row.integer("grade")
    return [str(problem) for problem in problems.found]


@pytest.mark.parametrize(
    "line",
    ['{"grade": ' + "9" * 400 + "}", '{"grade": ' + "9" * 5000 + "}", "[" * 100_000, "NaN"],
)
def test_json_that_no_person_writes_is_one_problem(tmp_path, line):
    (problem,) = find_problems(tmp_path / "rows.jsonl", line)
    assert "rows.jsonl:1" in problem
    assert len(problem) < 300 + len(str(tmp_path))


def test_a_grade_of_400_digits_is_one_problem(tmp_path):
    (problem,) = find_problems(tmp_path / "qrels.txt", f"q 0 d {'9' * 400}")
    assert "must be a whole number" in problem
    assert len(problem) < 300 + len(str(tmp_path))


def test_a_cell_may_be_as_long_as_a_document(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text(f"question,quote\nwhat?,{'x' * 200_000}\n")
    assert len(read_questions(path).rows) == 1


def test_a_ranking_that_was_edited_is_not_resumed(tmp_path):
    with RunFolder(tmp_path / "run") as folder:
        for query in ("one", "two"):
            folder.add_ranking(query, Ranking(()), frozenset())
    assert RunFolder(folder.path).finished_queries() == {"one", "two"}
    path = folder.path / "rankings.jsonl"
    path.write_text(path.read_text().replace('"hits":[]', '"hits":[["a",1.0,{}]]', 1))
    with pytest.raises(AssayError, match="ranking of query one was changed"):
        RunFolder(folder.path).finished_queries()


def test_a_run_whose_folder_is_removed_or_damaged_does_not_go_on(tmp_path):
    missing = pytest.raises(AssayError, match=r"jsonl: cannot be written: No such file")
    with missing, RunFolder(tmp_path / "run") as folder:
        folder.add_ranking("one", Ranking(()), frozenset())
        shutil.rmtree(folder.path)
    folder.path.mkdir()
    (folder.path / "rankings.jsonl").write_text("{}x\n")
    with pytest.raises(AssayError, match=r"rankings\.jsonl:1: not a row"):
        folder.finished_queries()
