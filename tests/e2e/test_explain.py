"""`assay explain` as a user meets it."""

import json
from pathlib import Path

import pytest

RUN = ("run", "configs/bm25.yaml", "latency.queries=0", "limit=20", "--no-track")


@pytest.fixture(scope="module")
def result(assay_json):
    return assay_json(*RUN)


def test_the_cutoff_is_free_to_choose(assay_json, result):
    found = [assay_json("explain", result["run"], "-k", k)["totals"]["found"] for k in "159"]
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_a_query_tells_of_each_of_its_items(assay, assay_json, result):
    stored = json.loads((Path(result["report"]).parent / "attribution.json").read_text())
    query, items = next(
        (id_, items)
        for id_, items in stored["queries"].items()
        if {"found"} < {item["status"] for item in items}
    )
    told = assay_json("explain", result["run"], "--query", query)["query"]
    assert [item["status"] for item in told["items"]] == [item["status"] for item in items]
    assert all(item["excerpt"] for item in told["items"])
    printed = " ".join(assay("explain", result["run"], "--query", query).stdout.split())
    assert told["text"] in printed
    for item in told["items"]:
        assert item["words"] in printed
        assert item["excerpt"][:30] in printed
        assert f"final {item['ranks']['final'] or '–'}" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("--query", "none"), "--query none: not in bm25-"), (("-k", "0"), "0 is not in the range")],
)
def test_bad_input_is_one_line(assay, result, arguments, words):
    done = assay("explain", result["run"], *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout
