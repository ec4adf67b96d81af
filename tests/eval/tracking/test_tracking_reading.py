"""Reading runs back from MLflow."""

import pytest
from pandas.testing import assert_frame_equal
from samples.tracked_run import client, make_summary, run_ids

from assay.eval.studies.run.frame import RunResult
from assay.eval.tracking import TrackingError, log
from assay.eval.tracking.reading import read_tracked


def test_a_run_is_read_back_whole(store, summary):
    (logged,) = log([summary])
    (tracked,) = read_tracked()
    manifest = summary.run.manifest
    assert (tracked.id, tracked.mlflow_run) == (manifest.id, logged.run_id)
    assert (tracked.name, tracked.collection) == ("words", "tiny")
    assert tracked.digest == manifest.collection.digest
    assert (tracked.queries, tracked.sampled, tracked.degraded) == (3, False, False)
    result = RunResult(summary.run, tuple(summary.scores))
    assert tracked.finished == result.created
    assert tracked.config["retriever.legs.words.type"] == "overlap"
    means = result.tables["measures"].loc[["nDCG@10"], ["mean", "mean_low", "mean_high", "n"]]
    assert_frame_equal(tracked.measures, means.set_axis(tracked.measures.columns, axis=1))
    assert_frame_equal(tracked.per_query, result.per_query)
    total = result.found.latency["total"]
    for percentile, row in tracked.latency.iterrows():
        told = total[percentile]
        assert (row["ms"], row["n"]) == (told.value, 3)
        assert list(row[["low"]].dropna()) == [end for end in [told.low] if end is not None]
    assert tracked.latency["high"].isna().all()


def test_the_newest_comes_first_and_each_once(store, tmp_path):
    summaries = [make_summary(tmp_path / "reports", name) for name in ("words", "more")]
    log(summaries)
    log(summaries[:1], rerun=True)
    found = read_tracked()
    assert sorted(run.name for run in found) == ["more", "words"]
    assert [run.finished for run in found] == sorted((r.finished for r in found), reverse=True)


def test_what_was_not_sent_whole_is_left_out(store, tmp_path):
    log([make_summary(tmp_path / "reports", name) for name in ("words", "more")])
    tracking = client()
    (lost,) = (run.mlflow_run for run in read_tracked() if run.name == "words")
    tracking.set_terminated(lost, "FAILED")
    assert lost not in run_ids(tracking)
    assert [run.name for run in read_tracked()] == ["more"]


def test_no_store_is_made_by_reading(tmp_path):
    with pytest.raises(TrackingError, match="no runs are tracked"):
        read_tracked()
    assert not list(tmp_path.iterdir())
