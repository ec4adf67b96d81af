"""The tables that are laid into a new store: those that MLflow's migrations make, to the letter."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from assay.eval.tracking import local, tables

QUERY = "SELECT sql FROM sqlite_master WHERE sql NOT NULL"


def sort_lines(sql: str) -> list[str]:
    """Return the lines in an order of their own: that of constraints and indexes is by chance."""
    return sorted(line.strip(" ,") for line in sql.splitlines())


def read_tables(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as opened:
        return sort_lines("\n".join(sql for (sql,) in opened.execute(QUERY)))


def test_the_tables_are_those_that_migrations_make() -> None:
    made = tables.dump_tables()
    assert sort_lines(tables.FILE.read_text()) == sort_lines(made), "see the file's first line"


def test_a_store_of_another_mlflow_is_made_by_its_migrations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.open_local(tmp_path / "laid.db")
    older = tables.FILE.read_text().replace("CREATE TABLE alembic_version", "CREATE TABLE older", 1)
    (tmp_path / "older.sql").write_text(older.replace(" MLflow ", " MLflow 3.10, not ", 1))
    monkeypatch.setattr(tables, "FILE", tmp_path / "older.sql")
    local.open_local(tmp_path / "migrated.db")
    assert read_tables(tmp_path / "laid.db") == read_tables(tmp_path / "migrated.db")
