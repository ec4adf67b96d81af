"""A collection with principals, from the command line: what is shown, and what a leak does."""

import json

import pytest
from tools.command_line import call
from tools.project_files import write_native

from assay.retrievers.legs.leg_set import LegGroup

CARD = """\
fields: {audience: list of text, year: number}
readers: audience
principals: {anna: [staff, public], carl: [public]}
"""
OPEN = """\
---
audience: [public]
year: 2020
---
# Valves

A valve closes the pipe. See [the price list](prices.md).
"""
SECRET = """\
---
audience: [staff]
year: 2024
---
# Prices

The valve has a margin of ten. See [valves](valves.md).
"""


@pytest.fixture
def collection(tmp_path, monkeypatch):
    queries = [{"_id": f"q{i}", "text": "valve", "principal": "carl"} for i in range(2)]
    documents = {"valves.md": OPEN, "prices.md": SECRET}
    gold = [
        {"query_id": query["_id"], "path": name, "grade": 1}
        for query in queries
        for name in documents
    ]
    folder = write_native(tmp_path / "kept", documents, queries, gold, CARD)
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.slow
def test_what_a_principal_may_not_read_is_shown_nowhere_and_a_leak_fails_run_and_gate(
    collection, monkeypatch, capsys
):
    def assay(*words):
        return call(monkeypatch, capsys, *words)

    assert assay("dataset", "check", collection)[0] == 0
    where = f"dataset={collection}"
    status, shown = assay("search", "bm25", "valve", where, "--principal", "carl")
    assert (status, "valves.md" in shown, "prices.md (" in shown) == (0, True, False)
    assert "margin" not in shown
    newer = json.dumps({"field": "year", "range": {"gt": 2020}})
    status, shown = assay("search", "bm25", "valve", where, "--filter", newer)
    assert (status, "margin" in shown) == (0, True)
    for wrong, told in (
        (("--principal", "karl"), "allowed: anna, carl; did you mean carl?"),
        (("--filter", "{"), "--filter: not a filter in JSON"),
        (("--filter", '{"field": "year", "equals": "x"}'), "year: 'x' is no number"),
    ):
        status, said = assay("search", "bm25", "valve", where, *wrong)
        assert (status, told in said, said.count("\n")) == (2, True, 1), said

    status, said = assay("run", "bm25", where, "latency.queries=2")
    assert status == 0, said
    assert "No leak in 2 queries with a principal" in said.replace("\n", " ")
    (page,) = (collection.parent / "reports").glob("*/report.html")
    assert "No leak in 2 queries" in page.read_text()
    assert "margin of ten" not in page.read_text()

    def search_all(self, name, request, allowed, depth, found):
        return self._search(name, self._legs[name], request, depth, found)

    monkeypatch.setattr(LegGroup, "_search_allowed", search_all)
    for command in (("run", "bm25", where, "--rerun"), ("gate", "bm25", where)):
        status, said = assay(*command, "depth=50")
        assert status == 1, said
        assert "leak: query q0 shows chunk " in said
        assert "of document prices.md" in said
        assert "principal carl may not read" in said
