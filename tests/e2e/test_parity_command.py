"""`assay parity` and `assay recall` as a user meets them, on a few queries."""

from collections.abc import Callable
from typing import Any

import pytest

Assay = Callable[..., Any]


def test_recall_by_a_setting(assay_json):
    found = assay_json(
        "recall", "qdrant-edge", "harbourline", "m=2", "ef_construct=4", "--sweep", "ef=1,300",
        "--limit", "6", "--no-track",
    )  # fmt: skip
    least, most, exact = found["points"]
    assert least["recall"]["10"]["value"] <= most["recall"]["10"]["value"]
    assert exact["exact"]
    assert exact["recall"]["100"]["value"] == 1


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
