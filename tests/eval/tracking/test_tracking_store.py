import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from samples.tracked_run import check_run, client, make_summary, run_ids

from assay.eval.cli.log import log as log_command
from assay.eval.runs.stored import load
from assay.eval.runs.summary.summary import summarise
from assay.eval.tracking import TrackingError, log, log_once, tracking_uri
from assay.eval.tracking.delivery import find_logged
from assay.eval.tracking.parent_run import log_family
from assay.eval.tracking.record import describe
from assay.retrievers.base import AssayError, Quiet

ROOT = Path(__file__).parents[3]


@pytest.mark.usefixtures("store")
def test_a_sqlite_store_holds_all_of_two_runs_and_nothing_else(tmp_path):
    summaries = [make_summary(tmp_path / "reports", name) for name in ("words", "others")]
    logged = log(summaries)
    tracking = client(f"sqlite:///{tmp_path}/mlflow.db")
    for summary, entry in zip(summaries, logged, strict=True):
        assert entry.fresh
        check_run(tracking, summary, entry.run_id)
        assert json.loads((summary.run.folder / "mlflow.json").read_text()) == {
            "tracking_uri": f"sqlite:///{tmp_path}/mlflow.db",
            "experiment": "assay",
            "run_id": entry.run_id,
            "parent": "",
        }
    assert run_ids(tracking) == {entry.run_id for entry in logged}
    assert (tmp_path / "mlruns").is_dir()


@pytest.mark.usefixtures("store")
def test_a_run_whose_note_names_another_store_is_found_by_its_tag(summary):
    first = log_once(summary)
    note = summary.run.folder / "mlflow.json"
    note.write_text(note.read_text().replace("sqlite:///", "sqlite:////elsewhere"))
    assert log_once(summary) == first
    note.unlink()
    assert log_once(summary) == first
    assert run_ids(client()) == {first}


@pytest.mark.usefixtures("store")
def test_a_sweep_is_the_parent_of_what_is_new_and_names_all(tmp_path):
    one, two, three = (
        replace(describe(make_summary(tmp_path / "reports", name)), name=f"k {name}")
        for name in ("words", "others", "more")
    )
    alone = log_once(summarise(load(one.folder), ["nDCG@10"]))
    folder = tmp_path / "sweep-x-1"
    folder.mkdir()
    (folder / "report.html").write_text("<p>")
    parent = log_family([one, two], "assay sweep x.yaml", folder, Quiet())
    tracking = client()
    run = tracking.get_run(parent)
    assert (run.info.run_name, run.data.metrics["points"]) == ("sweep-x-1", 2)
    children = find_children(tracking, parent)
    assert [child.info.run_name for child in children] == ["k others"]
    note = run.data.tags["mlflow.note.content"]
    place = f"#/experiments/{run.info.experiment_id}/runs"
    assert f"[k words]({place}/{alone})" in note
    assert f"[k others]({place}/{children[0].info.run_id})" in note
    assert f"[Report]({place}/{parent}/artifacts/report.html)" in note
    assert log_family([one, two], "assay sweep x.yaml", folder, Quiet()) == parent
    assert log_family([one, two, three], "assay sweep x.yaml", folder, Quiet()) == parent
    names = sorted(child.info.run_name for child in find_children(tracking, parent))
    assert names == ["k more", "k others"]
    other = folder.with_name("sweep-y-1")
    folder.rename(other)
    (other / "mlflow.json").unlink()
    assert log_family([one, two], "assay sweep y.yaml", other, Quiet()) != parent
    assert len(run_ids(tracking)) == 5


def find_children(tracking, parent):
    experiment = tracking.get_run(parent).info.experiment_id
    return tracking.search_runs([experiment], f"tags.mlflow.parentRunId = '{parent}'")


@pytest.mark.usefixtures("store")
def test_a_run_is_sent_once_and_again_only_on_request(summary):
    first = log_once(summary)
    assert log_once(summary) == first
    (entry,) = log([summary])
    assert (entry.fresh, entry.run_id) == (False, first)
    (anew,) = log([summary], rerun=True)
    assert anew.fresh
    assert anew.run_id != first
    assert len(run_ids(client())) == 2
    note = summary.run.folder / "mlflow.json"
    for run_id in (first, anew.run_id):  # the note says which of them is meant
        note.write_text(json.dumps(json.loads(note.read_text()) | {"run_id": run_id}))
        found = find_logged(client(), tracking_uri(), {summary.run.folder: summary.run.manifest.id})
        assert found[summary.run.folder].run_id == run_id
    assert len(run_ids(client())) == 2


@pytest.mark.usefixtures("store")
def test_a_quote_in_a_name_is_no_end_of_it(tmp_path):
    marked, other = (make_summary(tmp_path / "reports", name) for name in ("it's", "it_s"))
    first, second = log_once(marked), log_once(other)
    assert first != second
    for summary, run_id in ((marked, first), (other, second)):
        (summary.run.folder / "mlflow.json").unlink()
        assert log_once(summary) == run_id


@pytest.mark.usefixtures("store")
def test_a_run_goes_to_the_experiment_that_the_environment_names(summary, monkeypatch):
    first = log_once(summary)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "my/exp ü")
    second = log_once(summary)
    assert second != first
    assert client().get_experiment_by_name("my/exp ü").experiment_id == (
        client().get_run(second).info.experiment_id
    )
    assert log_once(summary) == second
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", "1")
    with pytest.raises(TrackingError, match="set MLFLOW_EXPERIMENT_NAME"):
        log_once(summary)


@pytest.mark.usefixtures("store")
def test_a_run_that_was_deleted_or_lies_in_another_store_is_sent(
    summary, empty_store, tmp_path, monkeypatch
):
    first = log_once(summary)
    client().delete_run(first)
    second = log_once(summary)
    assert second != first
    (tmp_path / "other").mkdir()
    shutil.copy(empty_store, tmp_path / "other/store.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///other/store.db")
    third = log_once(summary)
    assert third != second
    assert run_ids(client(f"sqlite:///{tmp_path}/other/store.db")) >= {third}
    assert (tmp_path / "other/mlruns").is_dir()
    note = summary.run.folder / "mlflow.json"
    note.write_text(note.read_text().replace(third, "0" * 32))
    assert log_once(summary) == third


@pytest.mark.usefixtures("store")
def test_a_child_that_breaks_in_the_middle_is_failed_and_can_be_sent_later(summary, tmp_path):
    (tmp_path / "mlruns").mkdir()
    tracking = client()
    (tmp_path / "not_a_folder").write_text("")
    broken = (tmp_path / "not_a_folder" / "artifacts").as_uri()
    tracking.create_experiment("assay", artifact_location=broken)
    with pytest.raises(TrackingError, match="not_a_folder"):
        log_once(summary)
    assert not (summary.run.folder / "mlflow.json").exists()
    assert run_ids(tracking) == set()
    assert len(run_ids(tracking, "FAILED")) == 1
    (tmp_path / "not_a_folder").unlink()
    run_id = log_once(summary)
    assert run_id in run_ids(tracking)


@pytest.mark.usefixtures("store")
def test_a_deleted_experiment_is_one_clear_line(summary):
    log_once(summary)
    tracking = client()
    tracking.delete_experiment(tracking.get_experiment_by_name("assay").experiment_id)
    with pytest.raises(TrackingError, match="mlflow experiments restore --experiment-id 1"):
        log([summary], rerun=True)


SEND = """
import sys
from pathlib import Path
from assay.eval.runs.stored import load
from assay.eval.runs.summary.summary import summarise
from assay.eval.tracking import log_once
print(log_once(summarise(load(Path(sys.argv[1])), ["nDCG@10"])))
"""


def send_in_a_process(folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", SEND, str(folder)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.long
def test_two_processes_share_a_fresh_store_and_print_nothing(tmp_path):
    folders = [make_summary(tmp_path / "reports", name).run.folder for name in ("one", "two")]
    processes = [send_in_a_process(folder) for folder in folders]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert [error for _, error in outputs] == ["", ""]
    sent = {output.strip() for output, _ in outputs}
    assert len(sent) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", run_id) for run_id in sent)
    assert len(run_ids(client())) == 2


@pytest.mark.usefixtures("store")
def test_the_log_command_says_what_it_did(summary, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    arguments = [str(summary.run.folder)]
    id_ = summary.run.manifest.id
    (summary.run.folder / "run.trec").unlink()
    first = CliRunner().invoke(log_command, arguments)
    assert first.output.startswith(f"{id_}: sent to sqlite:///{tmp_path}/mlflow.db, experiment ass")
    entry = json.loads((summary.run.folder / "mlflow.json").read_text())
    stored = client().get_run(entry["run_id"])
    assert "AP_rel_2" in stored.data.metrics
    assert "run.trec" in {file.path for file in client().list_artifacts(entry["run_id"])}
    second = CliRunner().invoke(log_command, [*arguments, id_[:8]])
    assert second.output == (
        f"{id_}: already in sqlite:///{tmp_path}/mlflow.db, experiment assay, "
        f"as {entry['run_id']}; --rerun sends it again\n"
    )
    unknown = CliRunner().invoke(log_command, ["nowhere"])
    assert isinstance(unknown.exception, AssayError)
    assert "no such run" in str(unknown.exception)


def test_the_store_is_named_by_the_environment_or_lies_here(tmp_path, monkeypatch):
    assert tracking_uri() == f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///sub/x.db")
    assert tracking_uri() == f"sqlite:///{tmp_path}/sub/x.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://host:5000/")
    assert tracking_uri() == "http://host:5000"


@pytest.mark.usefixtures("store")
def test_degraded_runs_are_marked(summary):
    manifest = summary.run.manifest.model_copy(update={"degraded": {"keyword: down": 2}})
    marked = replace(summary, run=replace(summary.run, manifest=manifest))
    assert client().get_run(log_once(marked)).data.tags["assay.degraded"] == "true"
