"""The first hit of each query, with what it is worth, in the page, as CSV and as a DataFrame."""

import csv
import io
import json

import pytest
from samples.planned_runs import make_run
from samples.report import HOSTILE
from samples.report import make_run as make_hostile_run

from assay.eval.runs.json_form import to_json
from assay.eval.studies.comparison.analysis import compare
from assay.eval.studies.comparison.first_hits import find_first_hits, render_first_hits
from assay.eval.studies.comparison.frame import make_result
from assay.eval.studies.comparison.page import drilldown, write

BASE, OTHER = [1, 1, 2, 0] * 10, [1, 2, 1, 2] * 10  # the rank of the answer, query by query


@pytest.fixture
def compared(tmp_path):
    return compare([make_run(tmp_path, "base", BASE), make_run(tmp_path, "other", OTHER)])


def test_the_first_hit_is_right_where_the_answer_has_rank_1(compared):
    found = find_first_hits(compared)
    assert list(found) == list(compared.base.run.queries)
    for i, hits in enumerate(found.values()):
        assert [hit.right for hit in hits] == [BASE[i] == 1, OTHER[i] == 1]
        assert {hit.state for hit in hits} <= {"right", "not judged"}
        for hit in hits:
            assert hit.document == (f"d{i}" if hit.right else "d0" if i else "d1")
            assert hit.text == f"text number {hit.document[1:]}"
    scores = [summary.scores["Hit@1"] for summary in compared.summaries]
    assert {query: [score[query] for score in scores] for query in found} == {
        query: [float(hit.right) for hit in hits] for query, hits in found.items()
    }, "as ir-measures has it"


def test_the_tables_have_every_query_each_state_and_no_formula(compared, tmp_path):
    rows = list(csv.DictReader(io.StringIO(render_first_hits(compared))))
    assert [row["query_id"] for row in rows] == list(compared.base.run.queries)
    assert rows[2]["base: first"] == "not judged"
    assert (rows[2]["other: first"], rows[2]["other: document"]) == ("right", "d2")
    table = make_result(compared).first_hits()
    assert table.loc[("q1", "base"), "state"] == "right"
    assert table.loc[("q1", "other"), "state"] == "not judged"
    assert len(table) == 2 * len(BASE)
    runs = [make_hostile_run(tmp_path, name=name, legs=(name,)) for name in ("words", "letters")]
    hostile = compare(runs)
    states = {hit.state for hits in find_first_hits(hostile).values() for hit in hits}
    assert {"right", "nothing found"} <= states
    assert states <= {"right", "wrong", "not judged", "nothing found"}
    page = write(hostile, tmp_path)
    text = page.with_name("first_hits.csv").read_text(encoding="utf-8")
    assert HOSTILE.replace('"', '""') in text
    assert HOSTILE not in page.read_text(encoding="utf-8")


def test_the_page_holds_so_many_and_says_what_it_leaves_out(compared, tmp_path, monkeypatch):
    monkeypatch.setattr(drilldown, "MOST_GRID", 12)
    monkeypatch.setattr("assay.eval.studies.comparison.page.view.MOST_GRID", 12)
    told = drilldown.collect(compared)
    held = [query for query in told["queries"] if "first" in query]
    assert len(held) == 12
    assert {query["id"] for query in held} <= {f"q{i}" for i in range(40) if BASE[i] != OTHER[i]}
    assert "The 28 questions that change least" in write(compared, tmp_path).read_text()
    assert json.dumps(to_json(compared)).count("text number") == 0, "the JSON stays small"
