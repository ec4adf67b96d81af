"""The comparison in half a page: the verdict and figures of the full one, and its files."""

import json

import pytest
from samples.planned_runs import make_run
from samples.small_project import write_project
from tools.command_line import call

from assay.eval.report.renderers import markdown, page
from assay.eval.studies.comparison.analysis import compare
from assay.eval.studies.comparison.brief import report


@pytest.mark.parametrize(
    ("second", "verdict", "share"),
    [([1] * 30, "better", 100), ([6] * 30, "worse", 0), ([1, 2] * 15, "no proven difference", 100)],
)
def test_it_says_what_the_full_report_says(tmp_path, second, verdict, share):
    first = make_run(tmp_path, "first", [1, 2] * 15)
    compared = compare([first, make_run(tmp_path, "second", second, limit=None)], effect=0.5)
    told = report(compared)
    assert list(told.verdict[: len(compared.verdict)]) == list(compared.verdict)
    found = f"30 with first and {round(0.3 * share)} with second"
    wanted = f"Of 30 questions, {found} get a right passage in the first 5 results."
    assert told.verdict[-1] == wanted
    (table,) = told.tables.values()
    by_key = {column.key: [column.print(row)[0] for row in table.rows] for column in table.columns}
    assert by_key["run"] == ["first", "second"]
    assert by_key["found"] == ["100.0\u00a0%", f"{share}.0\u00a0%"]
    assert by_key["verdict"][1] == verdict
    text = markdown.render(told)
    assert len(text.splitlines()) <= 30
    assert "| second |" in text
    assert page.render(told).count('<svg class="plot"') == 2  # one picture, a bar for each run


def test_it_is_written_beside_the_full_report(tmp_path, monkeypatch, capsys):
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    status, said = call(
        monkeypatch, capsys, "compare", "mine.yaml", "second.yaml", "--brief", "--no-track"
    )
    assert status == 0, said
    (folder,) = (tmp_path / "reports").glob("compare-*")
    assert {"brief.html", "brief.md", "report.html", "comparison.json"} <= {
        path.name for path in folder.iterdir()
    }
    assert "What this rests on" in said
    assert json.loads((folder / "comparison.json").read_text())["tests"] >= 0
    asked = ("compare", "mine.yaml", "second.yaml", "--brief", "--dataset", "a", "--dataset", "b")
    status, said = call(monkeypatch, capsys, *asked)
    assert (status, "--brief: of one collection" in said) == (2, True)
