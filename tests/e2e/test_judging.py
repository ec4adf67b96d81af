"""From unjudged results to judged ones: pool, fill in, label, run again."""

import csv
import io
import shutil

import pytest
from tools.processes import ROOT

# Two pipelines that cut documents differently, so that passages overlap without being the same.
BM25 = ("configs/bm25.yaml",)
FIXED = ("name=fixed", "documents.chunker={type: fixed, max_tokens: 160, overlap_tokens: 20}")
QUICK = ("latency.queries=0", "--no-track")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels") / "harbourline"
    shutil.copytree(ROOT / "datasets" / "harbourline", folder)
    return folder


def fill(table, grade):
    """Fill in a table as a spreadsheet saves it, and return its rows."""
    text = table.read_text(encoding="utf-8-sig")
    delimiter = max(",;", key=text.partition("\n")[0].count)
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
    for number, row in enumerate(rows):
        row["grade"] = grade(number)
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    return rows


def run(assay_json, *arguments):
    return assay_json("run", *arguments, *QUICK)


def test_the_round_trip(assay, assay_json, copy, tmp_path):
    dataset = f"dataset={copy}"
    first = [run(assay_json, *BM25, *more, dataset) for more in ((), FIXED)]
    ids = [found["run"] for found in first]
    table = tmp_path / "pool.csv"
    pooled = assay_json("pool", *ids, "--output", str(table))
    assert pooled["written"] == pooled["pairs"] == sum(pooled["by_query"].values())
    assert pooled["overlapping"] > 0
    for found in first:
        share = found["measures"]["Judged@10"]["mean"]
        assert pooled["judged_before"][found["run"]]["mean"] == pytest.approx(share)
    assert not [name for name in ids if name in table.read_text("utf-8-sig")]
    rows = fill(table, lambda number: str(number % 4))
    assert {row["collection"] for row in rows} == {str(copy)}
    labelled = tmp_path / "labelled"
    made = assay_json("label", str(table), "--output", str(labelled))
    assert (made["added"], made["unfilled"]) == (len(rows), 0)
    told, *_, counts = assay("dataset", "check", str(labelled)).stdout.splitlines()
    assert "judgments were made by a language model, not by people" in told
    assert counts.endswith("0 errors, 1 warning, 3 notes")
    second = [run(assay_json, *BM25, *more, f"dataset={labelled}") for more in ((), FIXED)]
    for found in second:
        assert found["measures"]["Judged@10"]["mean"] == 1
        open_ = found["unjudged"]["nDCG@10"]
        assert open_["bounds"]["lower"] == open_["bounds"]["upper"] == open_["condensed"]
    again = assay("pool", *(found["run"] for found in second), "--output", str(tmp_path / "x.csv"))
    assert "Nothing to judge" in again.stdout
    assert not (tmp_path / "x.csv").exists()
