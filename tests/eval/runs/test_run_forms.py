"""Forms in which other tools write rankings and tables: each is read, or named."""

import asyncio
import gzip
import json

import pytest
from pandas import DataFrame

from assay import run
from assay.eval.collections.formats.reading import split_table
from assay.eval.runs.run_files import read_run_file
from assay.retrievers.base import AssayError
from assay.retrievers.base.answers import read_answer

RANKED = {"q1": ("d2", "d1"), "q2": ("d3",)}
SCORED = {"q1": {"d1": 8, "d2": 9.5}, "q2": {"d3": 1}}
ROWS = [{"query_id": query, "ranking": list(ids)} for query, ids in RANKED.items()]


@pytest.mark.parametrize(
    "text",
    [
        "".join(json.dumps(row) + "\n" for row in ROWS),
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        json.dumps(SCORED),
        json.dumps(SCORED, indent=2),
        json.dumps({query: list(ids) for query, ids in RANKED.items()}),
        "q1 Q0 d2 1 9 theirs\nq1 Q0 d1 2 8 theirs\nq2 Q0 d3 1 1 theirs\n",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_every_form_of_a_run_is_the_same_ranking(tmp_path, text, packed):
    path = tmp_path / "theirs.run"  # a name that tells neither the form nor the packing
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert read_run_file(path).systems == {"theirs": RANKED}


@pytest.mark.parametrize("first", ["sep=;\n", '"sep=;"\r\n', "SEP=;\r\n"])
def test_a_table_may_name_its_separator(first):
    reader = split_table(f"{first}question;quote\nwhen, and where?;a,b,c,d\n")
    assert [*reader] == [["question", "quote"], ["when, and where?", "a,b,c,d"]]
    assert reader.line_num == 3


def test_a_data_frame_is_an_answer():
    frame = DataFrame({"doc_id": ["d2", "d1"], "score": [2.5, 1]})
    assert read_answer(frame) == [("d2", 2.5), ("d1", 1.0)]


@pytest.mark.parametrize("answer", [{"d1", "d2"}, frozenset({"d1"})])
def test_a_set_is_no_ranking(answer):
    with pytest.raises(AssayError, match="a set has no order"):
        read_answer(answer)


async def search(query, k):
    return ["d1"]


async def stream(query, k):
    yield "d1"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("function", [search, stream])
def test_an_asynchronous_function_is_told_how_to_wait(function):
    collection = {
        "documents": {"d1": "apples", "d2": "bread"},
        "queries": {"q1": "apples"},
        "judgments": {"q1": {"d1": 1}},
    }
    with pytest.raises(AssayError, match="lambda query, k: asyncio"):
        run(function, collection=collection, track=False)
    waiting = run(lambda q, k: asyncio.run(search(q, k)), collection=collection, track=False)
    assert waiting.tables["measures"].loc["nDCG@10", "mean"] == 1
