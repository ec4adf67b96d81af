"""A database of the cache that is locked, cut off, spoiled or gone."""

import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from assay.retrievers.base import AssayError
from assay.retrievers.store import database
from assay.retrievers.store.database import SUFFIXES, TABLE, Database


def put(base, key):
    def write(connection):
        with connection:
            connection.execute(f"INSERT OR REPLACE INTO {TABLE} VALUES (?, ?, 0)", (key, b"x"))

    base.write(write)


def keys(base):
    return base.read(lambda i: [row[0] for row in i.execute(f"SELECT key FROM {TABLE}")], ["none"])


@pytest.fixture
def base(tmp_path):
    return Database(tmp_path / "kind.sqlite")


@contextmanager
def locked(path):
    """Hold a database that keeps no log, so that others can neither read nor write."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        columns = "key TEXT PRIMARY KEY, value BLOB, checksum INTEGER"
        connection.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} ({columns})")
        connection.execute("BEGIN EXCLUSIVE")
        yield


def test_one_that_is_locked_is_told_and_stays(base, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    with locked(base.path):
        begin = time.monotonic()
        with pytest.raises(AssayError, match=r"kind\.sqlite: cannot be read: .*locked"):
            keys(base)
        with pytest.raises(AssayError, match=r"kind\.sqlite: cannot be written: .*locked"):
            put(base, "a")
        assert time.monotonic() - begin < 4
    assert not list(base.path.parent.glob("*.broken-*"))


def test_one_that_others_removed_is_made_anew(base):
    put(base, "a")
    with closing(sqlite3.connect(base.path)) as connection:  # readers go on beside a writer
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    base.path.unlink()
    put(base, "b")
    assert keys(base) == ["b"]
    base.remove()
    assert keys(base) == ["none"]
    assert [path.name for path in base.path.parent.iterdir()] == ["kind.sqlite.lock"]


def test_of_one_that_is_spoiled_or_cut_off_nothing_stays_but_its_copy(base, capsys):
    for suffix in SUFFIXES:
        Path(f"{base.path}{suffix}").write_bytes(b"spoiled" * 1000)
    assert keys(base) == ["none"]
    assert "set aside as kind.sqlite.broken-" in capsys.readouterr().err
    (aside,) = base.path.parent.glob("*.broken-*")
    assert {path.name for path in base.path.parent.iterdir()} == {aside.name, "kind.sqlite.lock"}
    for suffix in SUFFIXES:  # of a process killed while it made the next one
        Path(f"{base.path.with_suffix('.sqlite.partial')}{suffix}").write_bytes(b"cut off" * 1000)
        if suffix:
            Path(f"{base.path}{suffix}").write_bytes(b"cut off" * 1000)
    put(base, "a")
    assert keys(base) == ["a"]
    base.remove()
    assert [path.name for path in base.path.parent.iterdir()] == ["kind.sqlite.lock"]
