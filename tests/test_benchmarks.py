"""The latency benchmark: a small run, and the parts that its figures rest on. Never a time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.eval.collections.loading import load
from assay.eval.studies.targets.synthetic_corpus import (
    SENTENCE_END,
    CorpusSource,
    compose,
    scatter,
)
from assay.retrievers.base import AssayError
from benchmarks.experiment import PIPELINES
from benchmarks.memory import check_memory
from benchmarks.report import Contender, Report, Samples, Size, make_row
from benchmarks.stages import REFERENCE
from benchmarks.synthetic_collection import write_collection
from benchmarks.tables import print_report
from benchmarks.texts import sample_queries

ROOT = Path(__file__).parents[1]
LIBRARIES = ["bm25s, called directly", "rank-bm25, called directly"]
SOURCES = [
    CorpusSource(
        "boats", ("The ferry left. It was late.", "Boats sail.\nThey return."), ("ferry?",)
    ),
    CorpusSource("bees", ("Bees hum. They are many. They swarm.",), ("hum?", "swarm?", "many?")),
]


def run(*arguments):
    """Run the benchmark as `make bench` does; it would keep this process on one core too."""
    environment = {key: value for key, value in os.environ.items() if key != "ASSAY_DATA"}
    command = [sys.executable, "-m", "benchmarks.latency", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def report():
    done = run("--chunks", "200", "--queries", "12", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.long
def test_every_contender_is_timed(report):
    assert report["queries"] == 12
    [size] = report["sizes"]
    assert size["chunks"] == 200
    assert [row["name"] for row in size["rows"]] == [*PIPELINES, *LIBRARIES]
    for row in size["rows"]:
        for name in ("p50", "p95"):
            figure = row["total"][name]
            assert 0 < figure["low"] <= figure["value"]
            # Twelve queries bound no p95 from above.
            assert figure["high"] is None if name == "p95" else figure["high"] >= figure["value"]
            assert figure["n"] == 12
        assert row["index_seconds"] >= 0  # vectors that are compared as they are need no index
        assert row["verdict"] is None  # wanted at 10,000 chunks only


@pytest.mark.long
def test_query_embedding_is_told_apart(report):
    rows = {row["name"]: row for row in report["sizes"][0]["rows"]}
    for name in ("semantic", "hybrid_rrf", "native_hybrid"):
        assert 0 < rows[name]["embedding"]["p50"]["value"] < rows[name]["total"]["p50"]["value"]
        assert 0 < rows[name]["rest"]["p50"]["value"] < rows[name]["total"]["p50"]["value"]
    for name in ("bm25", *LIBRARIES):
        assert rows[name]["embedding"] is rows[name]["rest"] is None


@pytest.mark.long
def test_report_says_where_its_figures_come_from(report):
    assert list(report["sources"]) == ["tarnwick"]
    assert len(report["absent"]) == 2
    assert report["embedding_rates"]["bge-small-en-v1.5"] > 0
    if hasattr(os, "sched_getaffinity"):
        assert report["core"] in os.sched_getaffinity(0)
    rows = {row["name"]: row for row in report["sizes"][0]["rows"]}
    assert rows["semantic"]["index_bytes"] == 200 * 384 * 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--chunks", "0"], "'0' is not a whole number above 0"),
        (["--queries", "some"], "'some' is not a whole number above 0"),
        (["--chunks", "10000000000"], "of memory, of which"),
    ],
)
def test_what_cannot_be_run_is_said(arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_memory_is_asked_for():
    check_memory(1)
    with pytest.raises(AssayError, match="allowed here: up to"):
        check_memory(10**10)


def test_fewer_passages_begin_more():
    many = compose(SOURCES, 50)
    assert len(many) == 50
    assert compose(SOURCES, 20) == many[:20]
    real = {passage for source in SOURCES for passage in source.passages}
    assert set(many[:3]) == real


def test_composed_passages_keep_to_sentences_of_one_collection():
    sentences = [
        {sentence for passage in source.passages for sentence in SENTENCE_END.split(passage)}
        for source in SOURCES
    ]
    for passage in compose(SOURCES, 50)[3:]:
        parts = set(SENTENCE_END.split(passage))
        assert any(parts <= known for known in sentences)
        assert 20 <= len(passage) <= 60


def test_queries_are_spaced_over_all_collections():
    assert sample_queries(SOURCES, 2) == ["ferry?", "swarm?"]
    assert sample_queries(SOURCES, 99) == ["ferry?", "hum?", "swarm?", "many?"]


def test_scattered_vectors_are_near_real_ones_and_of_unit_length():
    real = np.eye(3, 384, dtype=np.float32)
    scattered = scatter(real, 40)
    assert scattered.dtype == np.float32
    assert np.allclose(np.linalg.norm(scattered, axis=1), 1, atol=1e-6)
    assert (np.sort(scattered @ real.T, axis=1)[:, -1] > 0.8).all()
    assert len(np.unique(scattered, axis=0)) == 40
    assert np.array_equal(scattered, scatter(real, 40))


@pytest.fixture
def bm25():
    return Contender("bm25", str, embeds=False, index_seconds=1.0, index_bytes=2_000_000)


def test_verdict_is_by_p95_at_the_wanted_size(bm25):
    fast, slow = Samples([4.0] * 20, [0.0] * 20), Samples([1.0] * 15 + [9.0] * 5, [0.0] * 20)
    assert make_row(bm25, fast, 10_000).verdict == "met"
    assert make_row(bm25, slow, 10_000).verdict == "missed"
    assert make_row(bm25, slow, 1_000).verdict is None


def test_tables_show_growth_and_verdict(bm25, capsys):
    sizes = tuple(
        Size(chunks, (make_row(bm25, Samples([taken] * 9, [0.0] * 9), chunks),))
        for chunks, taken in ((1_000, 0.5), (10_000, 2.0))
    )
    print_report(
        Report(
            sizes=sizes,
            queries=9,
            core=None,
            embedding_rates={"a-model": 20.0},
            sources={"boats": 3},
            absent=("without bees: $ASSAY_DATA is not set",),
            environment={"processor": "a processor"},
        )
    )
    printed = capsys.readouterr().out
    assert "× 4.00" in printed
    assert "< 5: met" in printed
    assert "2 MB" in printed
    assert "without bees" in printed


@pytest.mark.long
def test_the_steps_of_the_reference_pipelines_are_timed(report):
    steps = {item["name"]: item["steps"] for item in report["stages"]}
    assert list(steps) == list(REFERENCE)
    assert next(iter(steps["markdown_ragdocs"])) == "total"
    for name in ("expand", "dense", "fusion", "rerank", "parents"):
        times = steps["markdown_ragdocs"][name]
        assert 0 < times["p50"]["value"] <= times["p95"]["value"]


def test_what_is_planted_in_a_synthetic_collection_stands_there(tmp_path):
    folders = [write_collection(tmp_path / name, 1_500) for name in "ab"]
    collection = load(str(folders[0]))
    assert collection.digest == load(str(folders[1])).digest
    assert len(collection.documents) == 1_500
    passages = [set(document.text.split()) for document in collection.documents]
    for query in collection.queries:
        wanted = set(query.text.split())
        [item] = collection.gold[query.id]
        assert wanted <= set(collection.texts[item.doc_id].split())
        assert sum(len(wanted - words) <= 1 for words in passages) >= 6


def test_a_collection_too_small_for_what_is_planted_is_refused(tmp_path):
    with pytest.raises(AssayError, match=r"^10 passages cannot hold .* allowed: 1,200 up$"):
        write_collection(tmp_path, 10)
