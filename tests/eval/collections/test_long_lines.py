"""Lines and cells of megabytes: what reading one takes grows as its length does."""

import json
import tracemalloc
from contextlib import suppress

import pytest

from assay.eval.collections.authoring import worksheet
from assay.eval.collections.authoring.questions import read_questions
from assay.eval.collections.formats.reading import read_beir_qrels, read_jsonl, read_trec_qrels
from assay.eval.collections.problems import Problems
from assay.eval.runs.run_files import read_run_file
from assay.retrievers.base import AssayError

SIZE = 1_000_000
MOST = 40  # bytes of memory a byte of the line, where it is of a million cells
HEADER = "query_id,query,doc_id,start,end,text,grade,digest,collection"


def read(reader):
    return lambda path: list(reader(path, Problems(strict=False)))


LINES = {
    "JSON": ("x.jsonl", lambda n: json.dumps({"_id": "q", "text": "x " * (n // 2)}),
             read(read_jsonl)),
    "no JSON": ("x.jsonl", lambda n: "{" + "x " * (n // 2), read(read_jsonl)),
    "TREC judgment": ("x.txt", lambda n: f"q 0 {'d' * n} 1", read(read_trec_qrels)),
    "TREC columns": ("x.txt", lambda n: "q " * (n // 2), read(read_trec_qrels)),
    "BEIR judgment": ("x.tsv", lambda n: f"query-id\tcorpus-id\tscore\nq\td\t{'1' * n}",
                      read(read_beir_qrels)),
    "TREC run": ("x.trec", lambda n: f"q1 Q0 d1 1 2.5 tag {'x ' * (n // 2)}", read_run_file),
    "run as JSON": ("x.jsonl", lambda n: json.dumps({"query_id": "q", "ranking": ["d" * n]}),
                    read_run_file),
    "cell": ("x.csv", lambda n: f"question,quote\nhow?,{'x ' * (n // 2)}", read_questions),
    "cells": ("x.csv", lambda n: f"question,quote\nhow?{',x' * (n // 2)}", read_questions),
    "columns": ("x.csv", lambda n: f"question{',x' * (n // 2)}\nhow?", read_questions),
    "grade": ("x.csv", lambda n: f"{HEADER}\nq,how,a.md,0,3,{'x ' * (n // 2)},1,ff,t",
              worksheet.read),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_a_long_line_takes_memory_by_its_length(tmp_path, name):
    file, make, reader = LINES[name]
    path = tmp_path / file
    path.write_text(f"{make(SIZE)}\n")
    tracemalloc.start()
    try:
        with suppress(AssayError):
            reader(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MOST * SIZE
