"""A store of MLflow in a SQLite file, in the making."""

import sqlite3
from contextlib import closing

import pytest
import sqlalchemy

from assay.eval.tracking import local


def test_only_the_store_in_the_making_does_not_wait_for_the_disk(tmp_path):
    def read_syncs(name: str) -> int:
        engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / name}")
        with engine.connect() as connection:
            found = connection.execute(sqlalchemy.text("PRAGMA synchronous")).scalar_one()
        engine.dispose()
        return int(found)

    with local.skip_syncs(tmp_path / "made"):
        assert read_syncs("made") == 0
        assert read_syncs("other") == 2
    assert read_syncs("made") == 2


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder of a cache that holds nothing yet."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def list_tables(path):
    with closing(sqlite3.connect(path)) as opened:
        return {name for (name,) in opened.execute("SELECT name FROM sqlite_master")}


def test_tables_are_made_once(tmp_path, cache, monkeypatch):
    local.open_local(tmp_path / "first.db")
    monkeypatch.setattr(local, "_make_tables", None)
    client = local.open_local(tmp_path / "second.db")
    assert client.create_experiment("assay")
    assert list_tables(tmp_path / "first.db") == list_tables(tmp_path / "second.db") > {"runs"}


@pytest.mark.parametrize("damage", [b"", b"no database"])
def test_damaged_tables_in_the_cache_are_not_used(tmp_path, cache, damage):
    local.open_local(tmp_path / "first.db")
    (tables,) = cache.glob("mlflow/*/tables.db")
    tables.write_bytes(damage)
    assert local.open_local(tmp_path / "second.db").create_experiment("assay")


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, cache):
    cache.write_text("a file in the cache's place")
    assert local.open_local(tmp_path / "mlflow.db").create_experiment("assay")
