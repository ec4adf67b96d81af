"""`assay ui`: what the page of all reports shows, of which files, and when it is written."""

import json
import os

import pytest
from click.testing import CliRunner
from samples.planned_runs import make_run

from assay.eval.cli.main import assay
from assay.eval.cli.ui import ui
from assay.eval.runs.manifest import MANIFEST
from assay.eval.runs.summary.exports import export
from assay.eval.runs.summary.summary import summarise
from assay.eval.studies.comparison.differences import foresee
from assay.eval.studies.run.findings import judge_runs, list_findings
from assay.eval.studies.run.overview import list_collections, write_overview
from assay.eval.studies.run.overview_state import INDEX, is_stale
from assay.eval.studies.run.run_list import list_runs
from assay.retrievers.base import AssayError


@pytest.fixture
def reports(tmp_path, monkeypatch):
    """Two runs, of which one has a report."""
    folder = tmp_path / "reports"
    monkeypatch.setenv("ASSAY_REPORTS", str(folder))
    mine = make_run(folder, "mine", [1, 1, 2])
    export(summarise(mine, ["Hit@1", "nDCG@10"]))
    (mine.folder / "report.html").write_text("page")
    make_run(folder, "other", [1, 0, 0])
    return folder


def put(place, **files):
    """Write a page, and JSON files beside it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("page")
    for name, value in files.items():
        (place.parent / f"{name}.json").write_text(json.dumps(value))


def refresh(reports):
    """Do what every command does in the end."""
    if is_stale(reports):
        write_overview(reports)


def name_runs(reports):
    return {row.config: row.id for row in list_runs(reports, scored=False)}


def test_figures_come_from_what_reports_have_written(reports):
    rows = {row.config: row for row in list_runs(reports, scored=False)}
    mean = summarise(make_run(reports / "again", "mine", [1, 1, 2]), ["nDCG@10"]).means["nDCG@10"]
    assert rows["mine"].means["nDCG@10"] == pytest.approx(mean.value)
    assert rows["mine"].intervals["nDCG@10"] == pytest.approx((mean.low, mean.high))
    assert rows["mine"].p50 is not None
    assert dict(rows["other"].means) == {}
    page = write_overview(reports).read_text()
    assert f"{mean.value:.3f}<small>{mean.low:.3f} – {mean.high:.3f}</small>" in page


def test_collections_say_what_their_queries_can_show(reports):
    (row,) = list_collections(list_runs(reports, scored=False))
    assert (row.name, row.runs, row.facts.queries) == ("planned", 2, 3)
    assert row.detectable is None  # of three queries
    assert foresee(60) == pytest.approx(0.1103, abs=1e-3)


def test_every_kind_has_its_rows_with_verdicts_and_links(reports):
    made = [
        ("Comparisons", "compare-a-b/report.html", {"comparison": {"verdict": ["b is better."]}}),
        ("Sweeps", "sweep-x/report.html", {"sweep": {}, "summary": {"verdict": ["k 2 is best."]}}),
        ("Tunings", "tuned/my pipeline.html", {"my pipeline": {"verdict": "gain not shown"}}),
        ("Choices", "chosen/a.html", {"a": {"conclusion": "Keep a."}}),
        ("Ablations", "ablate-a/report.html", {"ablation": {"conclusions": ["dense: adds much"]}}),
        ("Gates", "gate-a/report.html", {"gate": {"verdict": "pass", "verdict_text": "Pass."}}),
        ("Ingestions", "ingest-a/report.html", {"ingestion": {"documents": 3}}),
        ("Thresholds", "threshold-a/report.html", {"threshold": {}}),
        ("Other reports", "x/report.html", {}),
    ]
    for _, place, files in made:
        put(reports / place, **files)
    verdicts = "b is better.;k 2 is best.;gain not shown;Keep a.;dense: adds much;Pass.;;;"
    found = [(item.kind, item.href, item.verdict) for item in list_findings(reports)]
    wanted = zip(made, verdicts.split(";"), strict=True)
    assert found == [(kind, place, verdict) for (kind, place, _), verdict in wanted]
    page = write_overview(reports).read_text()
    assert 'href="tuned/my%20pipeline.html"' in page
    again = write_overview(reports).read_text()
    assert again.count("<h2") == page.count("<h2"), "the page does not list itself"


def test_a_run_has_the_verdict_of_its_newest_comparison_and_gate(reports):
    ids = name_runs(reports)
    for number, verdict in enumerate(("worse", "better", "not shown (too few queries)")):
        facts = {
            "base": {"run": ids["other"], "label": "other"},
            "others": [{"run": ids["mine"], "differences": [{"verdict": verdict}]}],
        }
        put(reports / f"compare-{number}/report.html", comparison=facts)
        os.utime(reports / f"compare-{number}/report.html", (number * 60, number * 60))
    put(reports / "gate/report.html", gate={"verdict": "regression", "run": ids["mine"]})
    ranking = [{"run": ids["other"], "rank": 1}, {"run": "gone", "rank": 2}]
    put(reports / "compare-all/report.html", comparison={"ranking": ranking, "pairs": []})
    put(reports / "compare-odd/report.html", comparison={"others": [3], "base": []})
    verdicts = judge_runs(list_findings(reports))
    assert [(item.words, item.tone) for item in verdicts[ids["mine"]]] == [
        ("against other: not shown (too few queries)", ""),
        ("gate: regression", "worse"),
    ]
    assert [item.words for item in verdicts[ids["other"]]] == ["rank 1 of 2"]


def test_files_that_are_not_as_they_should_be_stop_nothing(reports):
    for number, text in enumerate(("", "[]", "{", '{"verdict": {"a": 1}}', "\udcff")):
        put(reports / f"compare-{number}/report.html")
        path = reports / f"compare-{number}/comparison.json"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    (reports / "broken").mkdir()
    (reports / "broken" / MANIFEST).write_text("{}")
    page = write_overview(reports).read_text()
    assert "Not read, as damaged or of another version: broken." in page


def test_it_is_written_when_something_changed_and_only_then(reports):
    (gone, kept) = name_runs(reports).values()
    CliRunner().invoke(assay, ["runs", "list"])
    page = reports / INDEX
    assert gone in page.read_text()
    os.utime(page, (0, 0))
    refresh(reports)
    assert page.stat().st_mtime == 0
    put(reports / "compare-a-b/report.html", comparison={})
    refresh(reports)
    assert "compare-a-b/report.html" in page.read_text()
    assert CliRunner().invoke(assay, ["runs", "delete", gone, "--yes"]).exit_code == 0
    assert gone not in page.read_text()
    assert kept in page.read_text()


def test_nothing_is_written_where_nothing_is_or_over_somebody_elses(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path))
    with pytest.raises(AssayError, match="no stored runs here; `assay run CONFIG` makes one"):
        CliRunner().invoke(ui, ["--no-browser"], catch_exceptions=False)
    refresh(tmp_path / "nowhere")
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines/a.json").write_text("{}")
    refresh(tmp_path)
    assert not (tmp_path / INDEX).exists()
    put(tmp_path / "x/report.html")
    (tmp_path / INDEX).write_text("mine")
    refresh(tmp_path)
    assert (tmp_path / INDEX).read_text() == "mine"
    with pytest.raises(AssayError, match=r"index\.html: was not made by assay; move it"):
        write_overview(tmp_path)


def test_the_command_gives_each_run_a_page(reports, monkeypatch):
    opened = []
    monkeypatch.setattr("click.launch", opened.append)
    done = CliRunner().invoke(ui, ["--no-browser", "--json"])
    assert json.loads(done.output) == {"page": str(reports / INDEX), "runs": 2}
    assert opened == []
    page = (reports / INDEX).read_text()
    for run in name_runs(reports).values():
        assert f'href="{run}/report.html"' in page
        assert (reports / run / "report.html").is_file()
    for screen in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(screen, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    CliRunner().invoke(ui)
    assert opened == []
    monkeypatch.setenv("DISPLAY", ":0")
    CliRunner().invoke(ui)
    assert opened == [str(reports / INDEX)]
