"""What MLflow holds of a comparison."""

import json
import time
from pathlib import Path

import pytest
from samples.tracked_run import check_run, client, make_summary, run_ids

from assay.eval.studies.comparison.analysis import compare
from assay.eval.studies.comparison.page import write
from assay.eval.studies.comparison.record import log_comparison
from assay.eval.tracking import log
from assay.eval.tracking.record import metric_name


@pytest.fixture
def summaries(tmp_path):
    """Three runs by their ids; two have one name."""
    made = [make_summary(tmp_path / "reports", name) for name in ("words", "others")]
    time.sleep(1)  # ids of the same run in two folders differ by the second
    made.append(make_summary(tmp_path / "elsewhere", "others"))
    return {summary.run.manifest.id: summary for summary in made}


@pytest.fixture
def compared(summaries):
    return compare([summary.run for summary in summaries.values()], ("nDCG@10", "AP(rel=2)"))


def send(compared, summaries, reports):
    def complete(run):
        return summaries[run.manifest.id]

    folder = write(compared, reports).parent
    return log_comparison(compared, folder, "assay compare words others others", complete)


@pytest.mark.usefixtures("store")
def test_a_comparison_is_the_parent_of_runs_that_are_new_and_names_all(
    compared, summaries, tmp_path
):
    first, *rest = summaries.values()
    (known,) = log([first])
    run_id = send(compared, summaries, tmp_path / "reports")
    tracking = client()
    run = tracking.get_run(run_id)
    assert run.info.status == "FINISHED"
    tags = run.data.tags
    assert tags["assay.command"] == "assay compare words others others"
    labels = compared.labels
    assert run.info.run_name == f"{labels[1]} · {labels[2]} against {labels[0]} on tiny"
    assert all(f"| {item} |" in tags["mlflow.note.content"] for item in ("nDCG@10", *labels[1:]))
    assert tags["assay.base"] == known.run_id
    assert tags["assay.comparison"].startswith("compare-words-others-others-tiny-")
    for child, summary in zip(json.loads(tags["assay.others"]), rest, strict=True):
        check_run(tracking, summary, child, run_id)
    verdicts = json.loads(tags["assay.verdicts"])
    assert list(verdicts) == [pair.other.run.manifest.id for pair in compared.pairs]
    assert {"comparison.json", "figures.json", "report.html", "report.md"} == {
        file.path for file in tracking.list_artifacts(run_id)
    }
    assert run.data.params["base"] == first.run.manifest.id
    assert json.loads(run.data.params["labels"]) == list(compared.labels)


@pytest.mark.usefixtures("store")
def test_its_metrics_are_of_the_headline_and_its_table_has_all(compared, summaries, tmp_path):
    run_id = send(compared, summaries, tmp_path / "reports")
    metrics = client().get_run(run_id).data.metrics
    table = json.loads(Path(client().download_artifacts(run_id, "figures.json")).read_text())
    figures = {name: row for name, *row in table["data"]}
    assert (metrics["queries"], metrics["tests"]) == (3, compared.tests)
    assert len(set(compared.labels)) == 3
    for pair, label in zip(compared.pairs, compared.labels[1:], strict=True):
        other = metric_name(label)
        for item, name in zip(pair.differences, ("nDCG_at_10", "AP_rel_2"), strict=True):
            place = f"{name}/{other}"
            found = item.difference
            assert figures[f"difference/{place}"] == [found.value, found.low, found.high]
            shown = item.detectable
            told = None if shown is None else [shown, None, None]
            assert figures.get(f"detectable/{place}") == told
            assert (f"p/{place}" in figures) == (item.adjusted is not None)
        place = f"difference/nDCG_at_10/{other}"
        assert [metrics[place], metrics[f"{place}.low"], metrics[f"{place}.high"]] == figures[place]
    assert not [name for name in metrics if "AP_rel_2" in name or "detectable" in name]
    assert not [name for name in (*metrics, *figures) if name.startswith("latency_ratio/")]


@pytest.mark.usefixtures("store")
def test_the_same_comparison_is_sent_once(compared, summaries, tmp_path):
    first = send(compared, summaries, tmp_path / "reports")
    assert send(compared, summaries, tmp_path / "reports") == first
    assert len(run_ids(client())) == 4
    client().delete_run(first)
    assert send(compared, summaries, tmp_path / "reports") != first
    assert len(run_ids(client())) == 4
