"""The cache on a disk that refuses: read-only, full, and with a database that is none."""

import errno
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tools.unprivileged import forbid_writing, run_unprivileged

from assay.retrievers.base import AssayError
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.files import write_atomically

READ = """
import sys
from pathlib import Path
from assay.retrievers.base import AssayError
from assay.retrievers.store.cache import Cache
cache = Cache(Path(sys.argv[1]))
print(cache.get_many("kind", ["a", "b"]), cache.folder("folders", "key", None).cached)
print([(item.kind, item.entries) for item in cache.usage()])
for write in (lambda: cache.put_many("kind", {"c": b"3"}), lambda: cache.clear("kind"),
              lambda: cache.folder("folders", "other", lambda path: None)):
    try:
        write()
    except AssayError as error:
        print(error)
"""


def fill(root):
    cache = Cache(root)
    cache.put_many("kind", {"a": b"1"})
    cache.folder("folders", "key", lambda path: None)


@pytest.mark.parametrize("read_before", [False, True])
def test_a_warm_cache_that_may_not_be_written_is_read(tmp_path, read_before):
    root = tmp_path / "cache"
    fill(root)
    if read_before:
        Cache(root).get_many("kind", ["a"])
    forbid_writing(root)
    done = run_unprivileged("-c", READ, str(root))
    lines = done.stdout.splitlines()
    assert lines[:2] == ["{'a': b'1'} True", "[('folders', 1), ('kind', 1)]"], done.stderr
    assert len(lines) == 5
    assert all("cannot be written: Permission denied" in line for line in lines[2:])


def test_reading_makes_no_file_and_an_empty_one_holds_nothing(tmp_path):
    fill(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    Cache(tmp_path).get_many("nothing", ["a"])
    assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "empty.sqlite").touch()
    assert Cache(tmp_path).get_many("empty", ["a"]) == {}
    Cache(tmp_path).put_many("empty", {"a": b"1"})
    assert Cache(tmp_path).get_many("empty", ["a"]) == {"a": b"1"}


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"x" * 99])
@pytest.mark.parametrize("how", ["get", "put", "usage", "clear"])
def test_a_broken_database_is_set_aside(tmp_path, capsys, content, how):
    (tmp_path / "kind.sqlite").write_bytes(content)
    cache = Cache(tmp_path)
    if how == "get":
        assert cache.get_many("kind", ["a"]) == {}
    elif how == "usage":
        assert [item.entries for item in cache.usage()] == [0]
    elif how == "clear":
        assert [item.kind for item in cache.clear()] == ["kind"]
        assert [path.name for path in tmp_path.glob("kind*")] == ["kind.sqlite.lock"]
    said = capsys.readouterr().err
    cache.put_many("kind", {"a": b"1"})
    said += capsys.readouterr().err
    assert said.count("\n") == said.count("set aside as kind.sqlite.broken-") == 1
    assert cache.get_many("kind", ["a"]) == {"a": b"1"}


FIND_BROKEN = """
import sys
from pathlib import Path
from assay.retrievers.store import database
from assay.retrievers.store.cache import Cache
cache = Cache(Path(sys.argv[1]))
whole = database._open_to_read
def wait(path):
    opened = whole(path)
    if not waited:
        waited.append(path)
        try:
            opened.execute("SELECT 1 FROM checked").fetchone()
        except Exception:
            print("found", flush=True)
            sys.stdin.readline()
    return opened
waited = []
database._open_to_read = wait
print(cache.get_many("kind", ["a"]), flush=True)
cache.put_many("kind", {sys.argv[2]: b"1"})
print("stored", flush=True)
sys.stdin.readline()
"""


def test_of_two_processes_one_sets_a_broken_database_aside(tmp_path):
    (tmp_path / "kind.sqlite").write_bytes(b"no database at all" * 100)

    def start(key):
        command = [sys.executable, "-c", FIND_BROKEN, str(tmp_path), key]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    with start("a") as one, start("b") as other:
        for process in (one, other):
            assert process.stdout is not None
            assert process.stdout.readline() == "found\n"
        # The second goes on when the first has made the database anew.
        assert one.stdin is not None
        assert one.stdout is not None
        one.stdin.write("\n")
        one.stdin.flush()
        assert [one.stdout.readline() for _ in range(2)] == ["{}\n", "stored\n"]
        rest = [process.communicate("\n\n", timeout=60) for process in (other, one)]
    assert [process.returncode for process in (one, other)] == [0, 0], rest
    said = "".join(err for _, err in rest)
    assert said.count("set aside as kind.sqlite.broken-") == said.count("\n") == 1
    assert Cache(tmp_path).get_many("kind", ["a", "b"]) == {"a": b"1", "b": b"1"}


def test_of_many_threads_one_sets_a_broken_database_aside(tmp_path, capsys):
    keys = [f"key{number}" for number in range(8)]
    for times in (1, 2):  # within one second: the second must not replace the first
        (tmp_path / "kind.sqlite").write_bytes(b"no database at all" * 100)
        begin = threading.Barrier(len(keys))

        def store(key, begin=begin):
            cache = Cache(tmp_path)
            begin.wait()
            cache.get_many("kind", [key])
            cache.put_many("kind", {key: b"1"})

        with ThreadPoolExecutor(len(keys)) as pool:
            list(pool.map(store, keys))
        assert Cache(tmp_path).get_many("kind", keys) == dict.fromkeys(keys, b"1")
        assert len(list(tmp_path.glob("kind.sqlite.broken-*"))) == times
        for suffix in ("-wal", "-shm"):
            (tmp_path / f"kind.sqlite{suffix}").unlink(missing_ok=True)
    assert capsys.readouterr().err.count("set aside") == 2


def test_a_damaged_page_is_set_aside(tmp_path, capsys):
    cache = Cache(tmp_path)
    cache.put_many("kind", {f"key{number}": b"x" * 500 for number in range(500)})
    path = tmp_path / "kind.sqlite"
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xee" * (path.stat().st_size - 4096))
    assert cache.get_many("kind", ["key1"]) == {}
    assert "set aside" in capsys.readouterr().err
    cache.put_many("kind", {"key1": b"2"})
    assert cache.get_many("kind", ["key1"]) == {"key1": b"2"}


@pytest.mark.parametrize("number", [errno.ENOSPC, None])
def test_a_failed_folder_leaves_nothing(tmp_path, number):
    """A full disk is told in one line; what else fails is as it was raised."""

    def fail(path):
        (path / "part").write_text("part")
        raise OSError(number, "No space left on device") if number else OSError("odd")

    told = r"key: cannot be written: No space left on device" if number else "^odd$"
    with pytest.raises(AssayError if number else OSError, match=told):
        Cache(tmp_path).folder("kind", "key", fail)
    assert [path.name for path in (tmp_path / "kind").iterdir() if path.is_dir()] == []
    folder = Cache(tmp_path).folder("kind", "key", lambda path: (path / "whole").touch())
    assert {path.name for path in folder.path.iterdir()} == {"whole", "assay.json"}


@pytest.mark.parametrize(("owner", "failing"), [(os, "fsync"), (Path, "replace")])
def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch, owner, failing):
    path = tmp_path / "file"
    path.write_text("before")

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(owner, failing, fail)
    with pytest.raises(AssayError, match=r"file: cannot be written: No space left on device"):
        write_atomically(path, b"after")
    assert [(item.name, item.read_text()) for item in tmp_path.iterdir()] == [("file", "before")]
