"""The latency benchmark: a small run, and the parts that its figures rest on. Never a time."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.eval.collections.loading import load
from assay.eval.report.renderers import markdown
from assay.eval.studies.targets.synthetic_corpus import (
    SENTENCE_END,
    CorpusSource,
    compose,
    scatter,
)
from assay.retrievers.base import AssayError
from benchmarks import commands
from benchmarks.latency import PIPELINES, Contender, make_rows, report
from benchmarks.memory import check_memory
from benchmarks.synthetic_collection import write_collection
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


@pytest.mark.long
def test_every_contender_is_timed_and_its_embedding_of_queries_apart():
    done = run("--chunks", "200", "--queries", "12", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rows = {row["name"]: row for row in told["rows"]}
    embedding = {name: f"{name}: embedding the query" for name in PIPELINES if name != "bm25"}
    assert rows.keys() == {*PIPELINES, *LIBRARIES, *embedding.values()}
    for row in rows.values():
        assert (row["chunks"], row["verdict"]) == (200, ""), "wanted at 10,000 chunks only"
        assert 0 < row["p50"]["low"] <= row["p50"]["value"] <= row["p50"]["high"]
        # Twelve queries bound no p95 from above.
        assert (row["p95"]["high"], row["p95"]["n"]) == (None, 12)
    for name, part in embedding.items():
        assert rows[part]["p50"]["value"] < rows[name]["p50"]["value"]
    assert rows["semantic"]["index_bytes"] == 200 * 384 * 4
    notes = " ".join(told["notes"])
    assert "Real passages: tarnwick " in notes
    assert notes.count("without ") == 2
    assert "with bge-small-en-v1.5" in notes


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


def test_composed_passages_are_of_sentences_of_one_collection():
    many = compose(SOURCES, 50)
    assert len(many) == 50
    assert compose(SOURCES, 20) == many[:20]
    real = {passage for source in SOURCES for passage in source.passages}
    assert set(many[:3]) == real
    sentences = [
        {sentence for passage in source.passages for sentence in SENTENCE_END.split(passage)}
        for source in SOURCES
    ]
    for passage in compose(SOURCES, 50)[3:]:
        parts = set(SENTENCE_END.split(passage))
        assert any(parts <= known for known in sentences)
        assert 20 <= len(passage) <= 60


def test_queries_are_spaced_over_all_collections_and_memory_is_asked_for():
    assert sample_queries(SOURCES, 2) == ["ferry?", "swarm?"]
    assert sample_queries(SOURCES, 99) == ["ferry?", "hum?", "swarm?", "many?"]
    check_memory(1)
    with pytest.raises(AssayError, match="allowed here: up to"):
        check_memory(10**10)


def test_scattered_vectors_are_near_real_ones_and_of_unit_length():
    real = np.eye(3, 384, dtype=np.float32)
    scattered = scatter(real, 40)
    assert scattered.dtype == np.float32
    assert np.allclose(np.linalg.norm(scattered, axis=1), 1, atol=1e-6)
    assert (np.sort(scattered @ real.T, axis=1)[:, -1] > 0.8).all()
    assert len(np.unique(scattered, axis=0)) == 40
    assert np.array_equal(scattered, scatter(real, 40))


def test_verdict_is_by_p95_at_the_wanted_size():
    bm25 = Contender("bm25", str, 1.0, 2_000_000)
    fast, slow = [(4.0, 0.0)] * 20, [(1.0, 0.0)] * 15 + [(9.0, 0.0)] * 5
    cases = ((fast, 10_000), (slow, 10_000), (slow, 1_000))
    rows = [row for taken, chunks in cases for row in make_rows(bm25, taken, chunks)]
    assert [row.verdict for row in rows] == ["met", "missed", ""]
    told = markdown.render(report(rows, ["without bees"], None))
    assert "Slower than wanted: bm25." in told
    assert re.search(r"\| bm25 \| 10,000 \| .* \| 5.00 \| missed \| 1.00 \| 2(.00)? MB \|", told)
    assert "without bees" in told


def test_what_is_planted_in_a_synthetic_collection_stands_there_or_it_is_refused(tmp_path):
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
    with pytest.raises(AssayError, match=r"^10 passages cannot hold .* allowed: 1,200 up$"):
        write_collection(tmp_path, 10)


@pytest.mark.parametrize(("taken", "status"), [(0.1, 0), (1000.0, 1)])
def test_a_command_beyond_its_budget_fails(monkeypatch, capsys, taken, status):
    figures = [("search", taken), ("compare 3 runs", 1000.0)]
    monkeypatch.setattr(commands, "measure", lambda *_: iter(figures))
    with pytest.raises(SystemExit) as ended:
        commands.main([])
    assert ended.value.code == status
    assert ("beyond the budget: search" in capsys.readouterr().out) == bool(status)
