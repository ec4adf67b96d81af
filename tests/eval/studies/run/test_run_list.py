"""`assay runs`: what stored runs there are, which are shown and deleted."""

import json
import re

import pytest
from click.testing import CliRunner
from samples.planned_runs import make_run

from assay.eval.cli.runs import runs
from assay.eval.runs.manifest import MANIFEST
from assay.eval.runs.summary.exports import MEANS, export
from assay.eval.runs.summary.summary import summarise
from assay.eval.studies.run.overview import write_overview
from assay.eval.studies.run.run_list import list_runs

MADE = ("2026-03-01T10:00:00+00:00", "2026-03-02T10:00:00+00:00", "2026-03-03T10:00:00+00:00")


def stamp(run, created, commit):
    """Say in the folder of a run when it was made, and at which commit."""
    path = run.folder / MANIFEST
    manifest = json.loads(path.read_text())
    manifest["created"] = created
    manifest["environment"]["repository"] = commit
    path.write_text(json.dumps(manifest))
    return run


@pytest.fixture
def reports(tmp_path, monkeypatch):
    """Three runs: two of one config at two commits, and one that nothing was exported of."""
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path))
    for name, ranks, created, commit in (
        ("mine", [1, 2, 0], MADE[0], "a" * 40),
        ("mine", [1, 1, 1], MADE[1], "b" * 40),
        ("other", [1, 0, 0], MADE[2], "b" * 40),
    ):
        run = stamp(make_run(tmp_path, name, ranks), created, commit)
        if name == "mine":
            export(summarise(run, ["Hit@1", "nDCG@10"]))
            (run.folder / "report.html").write_text("page")
    return tmp_path


def call(*arguments, **options):
    return CliRunner().invoke(runs, arguments, **options)


def listed(*arguments):
    done = call("list", *arguments, "--json")
    assert done.exit_code == 0, done.exception
    return json.loads(done.output)["runs"]


def test_the_newest_come_first_with_their_means(reports):
    newest, middle, oldest = listed()
    assert [row["config"] for row in (newest, middle, oldest)] == ["other", "mine", "mine"]
    assert middle["means"] == {"Hit@1": 1.0, "nDCG@10": 1.0}
    assert oldest["means"]["Hit@1"] == pytest.approx(1 / 3)
    assert newest["means"]["Hit@1"] == pytest.approx(1 / 3)  # scored, as nothing was exported
    assert (middle["commit"], middle["queries"]) == ("b" * 40, 3)
    assert middle["report"].endswith("report.html")
    assert newest["report"] is None


@pytest.mark.parametrize(
    ("options", "days"),
    [
        (["--config", "mine"], [2, 1]),
        (["--collection", "planned"], [3, 2, 1]),
        (["--since", "2026-03-02"], [3, 2]),
        (["--until", "2026-03-02"], [2, 1]),
        (["--since", "2026-03-02", "--until", "2026-03-02"], [2]),
        (["--min", "Hit@1=0.5"], [2]),
        (["--min", "nDCG@10=0.5", "--config", "mine"], [2, 1]),
        (["--measure", "Hit@1", "--config", "mine"], [2, 1]),
        (["--measure", "Hit@1", "--until", "2026-03-02"], [2, 1]),
    ],
)
def test_runs_are_filtered(options, days, reports):
    assert [row["created"] for row in listed(*options)] == [MADE[day - 1] for day in days]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--config", "mime"],
            r"--config mime: no run .*: mine, other; did you mean mine",
        ),
        (["--collection", "x"], "--collection x: no run .*there are: planned"),
        (["--since", "2026-3-1"], "--since': must be a date"),
        (["--min", "nDCG@10"], r"nDCG@10: must be MEASURE=VALUE"),
        (["--measure", "nDGC@10"], "nDGC@10"),
    ],
)
def test_a_wrong_filter_is_told(options, said, reports):
    done = call("list", *options)
    assert done.exit_code != 0
    assert re.search(said, f"{done.output}{done.exception}")


def test_the_table_and_one_run(reports):
    table = call("list", "--measure", "Hit@1", env={"COLUMNS": "200"}).output
    names = [line.split()[0][:4] for line in table.splitlines() if "planned" in line]
    assert names == ["mine", "othe", "mine"]
    (row,) = listed("--min", "Hit@1=0.9")
    shown = call("show", row["run"]).output
    assert "Hit@1          1.000" in shown
    assert f"commit         {'b' * 40}" in shown


def test_damaged_means_are_computed_again_and_a_broken_run_is_passed_over(reports):
    before = [row["means"]["Hit@1"] for row in listed()]
    for number, path in enumerate(sorted(reports.glob(f"*/{MEANS}"))):
        path.write_text("[3]" if number else "{")
    (reports / "broken").mkdir()
    (reports / "broken" / MANIFEST).write_text("{}")
    assert [row["means"]["Hit@1"] for row in listed()] == pytest.approx(before)


def test_deleting_asks_and_spares_the_others(reports):
    ids = [row["run"] for row in listed()]
    for words, told in (
        (["--yes"], "name runs, or say by options which"),
        (["--config", "mine", "--json"], "give --yes or --dry-run"),
    ):
        assert told in str(call("delete", *words).exception)
    assert call("delete", "--config", "mine", "--dry-run").exit_code == 0
    assert call("delete", "--config", "mine", input="n\n").exit_code == 1
    assert len(listed()) == 3
    done = call("delete", ids[1], "--config", "mine", "--yes", "--json")
    assert json.loads(done.output) == {"deleted": [ids[1]], "dry_run": False}
    assert [row["run"] for row in listed()] == [ids[0], ids[2]]
    assert not (reports / ids[1]).exists()
    assert call("delete", "--until", "2026-03-01", input="y\n").exit_code == 0
    assert [row["run"] for row in listed()] == [ids[0]]


def test_either_name_orders_the_list(reports):
    assert listed("--measure", "Success@1") == listed("--measure", "Hit@1")
    assert listed("--min", "Success@1=0.5") == listed("--min", "Hit@1=0.5") != listed()


def test_runs_that_were_timed_on_a_busy_machine_are_marked(reports):
    load_ = {"cores": 2, "seconds": 3.0, "own": 0.4, "others": 0.5, "load_average": 2.0}
    newest = list_runs(reports)[0]
    assert newest.p50 is not None
    for others, busy in ((0.5, True), (0.01, False)):
        for path in reports.glob(f"*/{MANIFEST}"):
            manifest = json.loads(path.read_text())
            path.write_text(json.dumps(manifest | {"load": load_ | {"others": others}}))
        assert listed()[0]["load"] == {**load_, "others": others, "disturbed": busy}
        assert ("other processes were working" in " ".join(call("list").output.split())) == busy
        assert (
            "other processes used 50 % of the 2 cores" in call("show", newest.id).output
        ) == busy
        assert (">busy</small>" in write_overview(reports).read_text()) == busy
