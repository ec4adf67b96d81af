"""Engines that keep one database file in the cache and open it read-only."""

import json
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tools.part_settings import read_settings

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import QUERIES, TEXTS, encode, index, search_fully
from assay.retrievers.engines.registry import EngineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.files import write_atomically

NEEDS = {
    "sqlite": ("apsw", "sqlite_vec"),
    "faiss": ("faiss",),
    "chroma": ("chromadb",),
    "lancedb": ("lancedb",),
}


@pytest.fixture(params=NEEDS)
def kind(request):
    for package in NEEDS[request.param]:
        pytest.importorskip(package, reason=f"needs the extra `{request.param}`")
    return str(request.param)


def make(kind, folder, threads=2, **settings):
    chosen = read_settings(EngineSettings, {"type": kind, **settings})
    return chosen.build(Resources(Cache(folder), threads=threads))


def build(engine):
    """Index the sample, check what the engine says of it, and return what was cached."""
    vectors = np.stack([encode(text) for text in TEXTS])
    report = engine.index(TEXTS, vectors, "hashing")
    assert report.chunks == len(TEXTS)
    assert report.seconds["engine"] > 0
    assert report.bytes > 10_000
    assert [i for i, _ in search_fully(engine, TEXTS[17], 1)] == [17]
    return report.cached


def find_files(kind, folder, end=""):
    """Return the engine's own files, without the cache's and the seal."""
    found = folder.glob(f"{kind}/*{end}/**/*")
    return [path for path in found if path.is_file() and path.suffix != ".json"]


def search(engine):
    return [[list(pair) for pair in search_fully(engine, q, 50)] for q in QUERIES]


PQ = {"type": "ivf-pq", "bits": 4, "partitions": 4}
# Settings one after the other, each with whether what it needs is built already.
BUILT = {
    "sqlite": [
        ({}, False),
        ({"k": 1, "weights": {"dense": 3.0}, "depth": {"dense": 7}}, True),
        ({"fusion": "min-max"}, True),
        ({"tokenizer": "trigram"}, False),
    ],
    "faiss": [
        ({"index": {"type": "hnsw"}}, False),
        ({"index": {"type": "hnsw", "ef": 9}}, True),
        ({"index": {"type": "hnsw", "m": 9}}, False),
        ({"index": {"type": "hnsw-sq", "m": 9}}, False),
        ({"index": PQ}, False),
        ({"index": {**PQ, "nprobe": 3}}, True),
        ({"index": {**PQ, "refine_factor": 2}}, False),
        ({"index": {**PQ, "refine_factor": 5}}, True),
        ({}, False),
        ({"index": {"m": 9, "seed": 5}}, True),
    ],
    "chroma": [
        ({"m": 4, "ef_construction": 40, "ef": 50}, False),
        ({"m": 4, "ef_construction": 40, "ef": 350}, True),
        ({}, False),
    ],
    "lancedb": [
        ({}, False),
        ({"k": 2, "depth": {"dense": 30}, "index": {"ef": 5}}, True),
        ({"fusion": "linear", "weight": 0.5}, True),
        ({"fts": {"language": "german"}}, False),
        ({"index": {"type": "hnsw-flat"}}, False),
    ],
}


def test_what_only_searching_needs_does_not_build_anew(kind, tmp_path):
    vectors = np.stack([encode(text) for text in TEXTS])
    for settings, built in BUILT[kind]:
        with closing(make(kind, tmp_path, **settings)) as engine:
            cached = engine.index(TEXTS, vectors, "hashing").cached
        assert cached == ("engine",) * built, settings


def test_searching_leaves_the_file_as_it_was(kind, tmp_path):
    first, second = make(kind, tmp_path), make(kind, tmp_path, threads=1)
    build(first)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    build(second)
    assert search(first) == search(second)
    first.close()
    assert search(second)
    second.close()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


@pytest.mark.parametrize("left", [0.0, 0.5, 1.0])
def test_a_broken_file_is_built_anew(kind, tmp_path, left):
    engine = make(kind, tmp_path)
    build(engine)
    expected = search(engine)
    engine.close()
    file = max(find_files(kind, tmp_path), key=lambda path: path.stat().st_size)
    content = file.read_bytes()
    spoilt = content[: int(left * len(content))]
    if left == 1.0:  # of the same size
        spoilt = bytes(255 - byte for byte in content[-1000:])
        spoilt = content[:-1000] + spoilt
    # Not in place: a thread of the closed engine may still have the old one mapped.
    write_atomically(file, spoilt)
    engine = make(kind, tmp_path)
    assert build(engine) == ()
    assert search(engine) == expected
    engine.close()


def test_a_folder_may_have_any_name(kind, tmp_path):
    folder = tmp_path / "it's 100% a?b#c;--"
    engine = make(kind, folder)
    build(engine)
    engine.close()
    engine = make(kind, folder)
    assert build(engine) == ("engine",)
    engine.close()


PLACES = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
CHILD = f"import json, sys; sys.path[:0] = {PLACES!r};" + (
    "from pathlib import Path; import test_engine_files as t;"
    "kind, folder = sys.argv[1], Path(sys.argv[2]);"
)


def start(code, kind, folder):
    command = [sys.executable, "-c", CHILD + code, kind, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "lancedb"], indirect=True)
def test_two_processes_at_once_agree(kind, tmp_path):
    code = (
        "engine = t.make(kind, folder); t.build(engine); print(json.dumps(t.search(engine)));"
        "sys.stdout.flush(); sys.stdin.readline(); engine.close()"
    )
    running = [start(code, kind, tmp_path) for _ in range(2)]
    outputs = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    engine = make(kind, tmp_path)
    assert build(engine) == ("engine",)
    assert [json.loads(output) for output, _ in outputs] == [search(engine)] * 2
    engine.close()


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_killed_while_building_leaves_nothing(kind, tmp_path):
    code = (
        "import os, signal; Path.rename = lambda *_: os.kill(os.getpid(), signal.SIGKILL);"
        "t.build(t.make(kind, folder))"
    )
    process = start(code, kind, tmp_path)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, errors
    assert find_files(kind, tmp_path, ".partial"), "killed before anything was written"
    engine = make(kind, tmp_path)
    assert build(engine) == ()
    engine.close()


def test_a_missing_extra_is_told_in_one_line(kind, monkeypatch):
    for package in NEEDS[kind]:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(AssayError) as caught:
        make(kind, Path())
    assert str(caught.value) == (f"engine {kind}: needs the extra `{kind}`: make extra NAME={kind}")


def test_nothing_is_known_of_what_was_closed(kind, tmp_path):
    engine = make(kind, tmp_path)
    index(engine)
    engine.close()
    assert search_fully(engine, "ferry", 5) == []
