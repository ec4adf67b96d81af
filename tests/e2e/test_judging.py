"""From unjudged results to judged ones: pool, fill in, label, run again."""

import csv
import io
import json
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


def test_a_score_stays_within_its_bounds(assay_json, copy, tmp_path):
    """Whatever the judges say of a run's own first ten."""
    dataset = f"dataset={copy}"
    before = run(assay_json, *BM25, dataset)
    table = tmp_path / "pool.csv"
    assay_json("pool", before["run"], "--output", str(table))
    fill(table, lambda number: str(number * 7 % 5 % 4))
    assay_json("label", str(table), "--output", str(tmp_path / "labelled"))
    after = run(assay_json, *BM25, f"dataset={tmp_path / 'labelled'}")
    for name in ("nDCG@10", "MRR@10", "Recall@10", "Hit@10"):
        bounds = before["unjudged"][name]["bounds"]
        score = after["measures"][name]["mean"]
        assert bounds["lower"]["mean"] - 1e-9 <= score <= bounds["upper"]["mean"] + 1e-9


def test_what_cannot_be_pooled_or_labelled(assay, copy, tmp_path):
    table = tmp_path / "pool.csv"
    arguments = ("pool", *BM25, "limit=6", "latency.queries=0", f"dataset={copy}")
    done = assay(*arguments, "--limit", "5", "--output", str(table))
    assert done.returncode == 0, done.stderr
    assert "pool.csv: 5 pairs (the most informative)" in done.stdout
    done = assay(*arguments, "--output", str(table))
    assert done.returncode == 2
    assert "is there already, and may hold grades" in done.stderr
    done = assay(*arguments, "--depth", "101", "--output", str(tmp_path / "deep.csv"))
    assert done.returncode == 2
    assert "allowed: a depth of 1 to 100" in done.stderr
    fill(table, lambda number: "9" if number else "1")
    done = assay("label", str(table))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{table}:" in done.stderr
    assert "whole number from 0 to 3, not '9'" in done.stderr
    assert "4 rows are wrong; nothing was written" in done.stderr
    fill(table, lambda number: "1")
    done = assay("label", str(table), "--json")
    assert done.returncode == 2
    assert "outside the current folder; say --output" in done.stderr
    fill(table, lambda number: "")
    assert json.loads(assay("label", str(table), "--json").stdout)["added"] == 0
    assert "No new judgment" in assay("label", str(table)).stdout
    assert assay("dataset", "check", str(copy)).returncode == 0
