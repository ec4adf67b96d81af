"""The cache: whole entries or none, whatever happens to the processes that write."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.base import AssayError
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import digest


def test_values_come_back_and_the_first_stays(tmp_path):
    cache = Cache(tmp_path)
    assert cache.get_many("kind", ["a"]) == {}
    cache.put_many("kind", {"a": b"1", "b": b"\x00\xff"})
    cache.put_many("kind", {"a": b"other"})
    assert cache.get_many("kind", ["a", "b", "c", "a"]) == {"a": b"1", "b": b"\x00\xff"}
    many = {f"key{number}": str(number).encode() for number in range(2345)}
    cache.put_many("kind", many)
    assert cache.get_many("kind", many) == many


@pytest.mark.slow
def test_threads_that_open_a_new_cache_at_once_all_get_it(tmp_path):
    for number in range(150):
        together = threading.Barrier(8)

        def put(i, root=tmp_path / str(number), wait=together.wait):
            wait()
            Cache(root).put_many("kind", {str(i): b"value"})

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(put, range(8))) == [None] * 8
        assert len(Cache(tmp_path / str(number)).get_many("kind", map(str, range(8)))) == 8


def test_processes_that_open_a_new_cache_at_once_all_get_it(tmp_path):
    code = """
import sys
from pathlib import Path
from assay.retrievers.store.cache import Cache
sys.stdin.readline()
for number in range(100):
    Cache(Path(sys.argv[1], str(number))).put_many("kind", {sys.argv[2]: b"value"})
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    several = [
        subprocess.Popen([*command, str(i)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for i in range(3)
    ]
    for one in several:
        assert one.stdin
        one.stdin.write(b"\n")
        one.stdin.flush()
    assert [(one.wait(60), one.stderr.read()) for one in several if one.stderr] == [(0, b"")] * 3
    assert len(Cache(tmp_path / "99").get_many("kind", map(str, range(3)))) == 3


def test_a_folder_is_made_once(tmp_path):
    cache = Cache(tmp_path)
    made = []

    def make(path):
        made.append(path)
        (path / "file").write_text("content")

    first, second = cache.folder("kind", "key", make), cache.folder("kind", "key", make)
    assert len(made) == 1
    assert (first.cached, second.cached) == (False, True)
    assert first.seconds == second.seconds
    assert (second.path / "file").read_text() == "content"


def test_usage_and_clear(tmp_path):
    cache = Cache(tmp_path)
    cache.put_many("values", {"a": b"1"})
    cache.folder("folders", "key", lambda path: (path / "file").write_bytes(b"x" * 1000))
    usage = {item.kind: item for item in cache.usage()}
    assert usage["values"].entries == usage["folders"].entries == 1
    assert usage["folders"].bytes >= 1000
    cache.clear("values")
    assert [item.kind for item in cache.usage()] == ["folders"]
    cache.clear()
    assert cache.usage() == []
    with pytest.raises(AssayError, match="no such kind"):
        cache.clear("values")


WRITER = """
import sys, time
from pathlib import Path
from assay.retrievers.store.cache import Cache
cache = Cache(Path(sys.argv[1]))
def make(path):
    (path / "one").write_text("1")
    print("half", flush=True)
    time.sleep(float(sys.argv[2]))
    (path / "two").write_text("2")
cache.folder("kind", "key", make)
for number in range(100000):
    cache.put_many("values", {f"{number}-{part}": bytes(100) for part in range(50)})
    print(number, flush=True)
    if sys.argv[2] == "0":
        break
"""


def start_writer(root, pause):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root), pause], stdout=subprocess.PIPE, text=True
    )


def test_killed_while_making_a_folder(tmp_path):
    process = start_writer(tmp_path, "60")
    assert process.stdout is not None
    assert process.stdout.readline() == "half\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    folder = Cache(tmp_path).folder("kind", "key", lambda path: (path / "whole").touch())
    assert {path.name for path in folder.path.iterdir()} == {"whole", "assay.json"}


def test_killed_while_writing_values(tmp_path):
    process = start_writer(tmp_path, "0.001")
    assert process.stdout is not None
    seen = [process.stdout.readline() for _ in range(20)]
    time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    cache = Cache(tmp_path)
    for number in (int(line) for line in seen[1:]):
        keys = [f"{number}-{part}" for part in range(50)]
        assert len(cache.get_many("values", keys)) == 50, "what was reported written is there"
    (entries,) = [item.entries for item in cache.usage() if item.kind == "values"]
    assert entries % 50 == 0, "a transaction is whole or absent"


def test_two_processes_want_the_same(tmp_path):
    processes = [start_writer(tmp_path, "0") for _ in range(3)]
    output = [process.communicate(timeout=60)[0] for process in processes]
    assert all(process.returncode == 0 for process in processes)
    assert sum("half" in text for text in output) == 1, "one made the folder, the others waited"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values))
def test_digest_does_not_depend_on_the_order_of_keys(value):
    assert digest(value) == digest(dict(reversed(value.items())))


@given(json_values, json_values)
def test_digest_tells_values_apart(one, other):
    same = type(one) is type(other) and one == other and repr(one) == repr(other)
    if same:
        assert digest(one) == digest(other)
    elif one != other:
        assert digest(one) != digest(other)
    assert digest(one, other) != digest([one, other])
