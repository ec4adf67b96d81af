"""Where correct passages were lost, from Python and on a page."""

import pytest
from samples.planned_runs import make_run

from assay import explain
from assay.retrievers.base import AssayError


def test_a_stored_run_is_explained_with_one_of_its_queries(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path))
    run = make_run(tmp_path, "mine", [1, 2, 7, 0, *[1] * 8])
    assert explain(run.manifest.id).tables["statuses"].loc["found", "passages"] == 11
    found = explain(run.manifest.id, query="q3", k=5)
    statuses = found.tables["statuses"]
    assert statuses.loc["found", ["passages", "share"]].tolist() == [10, pytest.approx(10 / 12)]
    assert statuses.passages.sum() == found.json()["items"] == 12
    assert found.found.worst_query == "q2"
    (item,) = found.json()["query"]["items"]
    assert found.tables["query"].loc[item["item"], "words"] == item["words"] != "found"
    assert found.tables["ceilings"].index[-1] == "actual"
    page = found.write(tmp_path / "shown").read_text()
    assert "12 correct passages of 12 queries, first 5 hits" in page
    with pytest.raises(AssayError, match="--query q99: not in mine-"):
        explain(run.manifest.id, query="q99")
