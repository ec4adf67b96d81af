"""`assay parity` and `assay recall` as a user meets them, on a few queries."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Assay = Callable[..., Any]


def test_an_engine_is_compared_with_its_formula(assay):
    done = assay("parity", "qdrant-edge", "harbourline", "k=2", "depth.dense=20", "--limit", "6")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        "Parity of qdrant-edge k=2 depth.dense=20 on harbourline 6 queries, 285 passages, "
    )
    assert lines[1].startswith("Identical: on all of 6 queries the engine returns ")
    assert lines[2] == "Formula: sum over both lists of 1 / (2 + rank), ranks from 0"
    assert lines[3].startswith("Native hybrid, nDCG@10 beside our RRF: ")
    begins = ("native hybrid", "our RRF", "nDCG@10")
    for begin in begins:
        assert any(line.startswith(f"{begin} ") for line in lines), begin
    assert "Check first: A sample: 6 queries. A quick look" in done.stdout
    page = Path(next(line for line in lines if line.startswith("report"))[8:])
    files = {file.name for file in page.parent.iterdir()}
    assert files == {"parity.json", "report.html", "report.md", "summary.json"}
    assert any(line.startswith("MLflow  run ") for line in lines)


def test_it_is_told_as_json(assay_json):
    found = assay_json(
        "parity", "qdrant-edge", "harbourline", "exact=false", "m=2", "--limit", "6", "--no-track"
    )
    assert found["verdict"] == "identical"
    assert found["counts"] == {"identical": 6, "ties": 0, "different": 0}
    assert found["command"] == ("assay parity qdrant-edge harbourline exact=false m=2 --limit 6")
    assert json.loads((Path(found["report"]).parent / "parity.json").read_text())["id"]


def test_recall_by_a_setting(assay_json):
    found = assay_json(
        "recall", "qdrant-edge", "harbourline", "m=2", "ef_construct=4", "--sweep", "ef=1,300",
        "--limit", "6", "--no-track",
    )  # fmt: skip
    least, most, exact = found["points"]
    assert least["recall"]["10"]["value"] <= most["recall"]["10"]["value"]
    assert exact["exact"]
    assert exact["recall"]["100"]["value"] == 1


def test_recall_by_filters(assay_json):
    found = assay_json(
        "recall", "qdrant-edge", "harbourline", "--filters", ".5,.1", "--limit", "6", "--no-track"
    )
    assert found["command"] == "assay recall qdrant-edge harbourline --filters .5,.1 --limit 6"
    assert (found["key"], found["filters"]) == ("", [0.5, 0.1])
    points = [(point["label"], point["share"]) for point in found["points"]]
    assert points == [
        (label, share)
        for label in ("qdrant-edge exact=false", "exact search")
        for share in (1, 0.5, 0.1)
    ]
    assert all(point["recall"]["100"]["value"] == 1 for point in found["points"] if point["exact"])
    assert [point["quality"] is None for point in found["points"]] == [False, True, True] * 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["parity", "nowhere"], "engine nowhere: no such engine; allowed: "),
        (["parity", "sql-server"], "engine sql-server: sql-server has no hybrid search of its own"),
        (["parity", "faiss"], "engine faiss: faiss has no hybrid search of its own: `assay run "),
        (["parity", "qdrant-edge", "k=0"], "engine qdrant-edge: k: input should be greater"),
        (["parity", "qdrant-edge", "x=1"], "engine qdrant-edge: x: unknown key; allowed: type, "),
        (["parity", "qdrant-edge", "nowhere"], "nowhere: there is no such collection"),
        (["parity", "qdrant-edge", "harbourline", "scifact"], "scifact: one COLLECTION at a time"),
        (["recall", "qdrant-edge", "--sweep", "ef"], "ef: an axis is key.path=v1,v2,v3"),
        (["recall", "qdrant-edge"], "give --sweep KEY=V1,V2,…, or --filters SHARE,…, or both"),
        (
            ["recall", "qdrant-edge", "--filters", ".5,1"],
            "--filters: 1: no share; allowed: above 0",
        ),
        (["recall", "qdrant-edge", "--sweep", "ef=0"], "engine qdrant-edge: ef: input should be"),
    ],
)
def test_what_is_to_be_mended_is_one_line(assay, arguments, words):
    done = assay(*arguments)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith(f"assay: {words}")
