"""Engines that keep a folder of their own in the cache: when it is found, made anew, shared."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tools.folder_engines import QUERIES, TEXTS, index, make

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import encode


class Kind(NamedTuple):
    """Settings that need no new folder, settings that do, and the files that spoil it."""

    same: list[dict[str, Any]]
    anew: list[dict[str, Any]]
    files: list[str]
    approximate: dict[str, Any]


KINDS = {
    "lancedb": Kind(
        same=[
            {"k": 2, "depth": {"dense": 3}, "index": {"ef": 5}},
            {"fusion": "linear", "weight": 0.5},
        ],
        anew=[{"fts": {"language": "german"}}, {"index": {"type": "hnsw-flat"}}],
        files=["data/*.lance", "part_*_invert.lance", "*.manifest"],
        approximate={"index": {"type": "hnsw-sq"}},
    ),
    "zvec": Kind(
        same=[
            {"k": 2, "depth": {"dense": 3}, "fusion": "rrf"},
            {"fusion": "weighted", "weights": {"dense": 2.0}},
        ],
        anew=[{"analyzer": {"language": "german"}}, {"exact": False}],
        files=["*.proxima", "manifest.*"],
        approximate={"exact": False},
    ),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(request.param, reason=f"needs the extra `{request.param}`")
    return str(request.param)


def build(kind: str, folder: Path, **settings: Any) -> tuple[str, ...]:
    """Index two texts, check what the engine says of them, and return what was cached."""
    with closing(make(kind, folder, **settings)) as engine:
        report = index(engine, ["cat", "dog"])
        assert report.bytes > 0
        assert set(report.seconds) == {"engine"}
        assert [i for i, _ in engine.hybrid("dog", encode("dog"), 1)] == [1]
        return report.cached


def test_the_folder_is_found_in_the_cache(kind: str, tmp_path: Path) -> None:
    assert build(kind, tmp_path) == ()
    for settings in KINDS[kind].same:
        assert build(kind, tmp_path, **settings) == ("engine",)
    for settings in KINDS[kind].anew:
        assert build(kind, tmp_path, **settings) == ()


@pytest.mark.parametrize(
    ("kind", "broken"), [(name, file) for name, kind in KINDS.items() for file in kind.files]
)
def test_a_broken_folder_is_made_anew(kind: str, broken: str, tmp_path: Path) -> None:
    pytest.importorskip(kind, reason=f"needs the extra `{kind}`")
    assert [build(kind, tmp_path), build(kind, tmp_path)] == [(), ("engine",)]
    next(tmp_path.rglob(broken)).write_bytes(b"")  # the engine itself may crash on it
    assert [build(kind, tmp_path), build(kind, tmp_path)] == [(), ("engine",)]
    next(tmp_path.rglob(broken)).unlink()
    assert build(kind, tmp_path) == ()


def test_a_blank_text_shares_no_terms(kind: str, tmp_path: Path) -> None:
    with closing(make(kind, tmp_path)) as engine:
        index(engine, TEXTS)
        assert engine.keyword(" \n", 5) == []
        dense = engine.dense(encode("cat"), engine.depth.dense)
        assert [i for i, _ in engine.hybrid(" ", encode("cat"), 5)] == [i for i, _ in dense[:5]]


def test_searching_prints_nothing(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(make(kind, tmp_path)) as engine:
        index(engine, TEXTS)
        capfd.readouterr()
        assert engine.hybrid(QUERIES[0], encode(QUERIES[0]), 100)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", KINDS)
def test_the_missing_extra_is_told_in_one_line(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(AssayError, match=rf"^engine {kind}: needs the extra `{kind}`: "):
        make(kind, tmp_path)


# Makes an engine in a process of its own; it answers twice, or tells that it has built and stays.
PROGRAM = f"""
import json, sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
import test_folder_engines as t
import assay.retrievers.engines.embedded as engines
kind, folder, what = sys.argv[1:]
if what == "stay":
    def stay(*arguments):
        print("built", flush=True)
        time.sleep(60)
    engines.seal = stay
engine = t.make(kind, Path(folder), **t.KINDS[kind].approximate)
t.index(engine, t.TEXTS)
for _ in range(2):
    print(json.dumps(t.search(engine)), flush=True)
    sys.stdin.readline()
"""


def start(kind: str, folder: Path, what: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, kind, str(folder), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def search(engine: Any) -> list[list[Any]]:
    return [[list(pair) for pair in engine.hybrid(q, encode(q), 100)] for q in QUERIES]


@pytest.mark.slow
def test_two_processes_at_once_agree_and_a_killed_one_leaves_nothing(
    kind: str, tmp_path: Path
) -> None:
    with start(kind, tmp_path, "stay") as killed:
        assert killed.stdout
        assert killed.stdout.readline() == "built\n"
        killed.kill()
    assert list(tmp_path.rglob("assay.json")) == []
    both = [start(kind, tmp_path, "answer") for _ in range(2)]
    first = [json.loads(process.stdout.readline()) for process in both if process.stdout]
    with closing(make(kind, tmp_path, **KINDS[kind].approximate)) as engine:
        assert index(engine, TEXTS).cached == ("engine",)
        ours = search(engine)
    second = [json.loads(process.communicate("\n\n", timeout=60)[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert [*first, *second] == [ours] * 4
