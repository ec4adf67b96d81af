"""The tables of MLflow's SQLite store, as its migrations make them, ready to be laid into a file.

`python -m assay.eval.tracking.tables` writes them anew, for the MLflow that is installed.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

FILE = Path(__file__).with_name("mlflow_tables.sql")
HEAD = "-- The tables of MLflow {version}; `python -m assay.eval.tracking.tables` writes this file."


def lay_tables(path: Path) -> None:
    """Make the tables in a SQLite file that has none, where they are those of this MLflow.

    Where they are of another, the file is left to MLflow's own migrations.
    """
    text = FILE.read_text()
    if text.startswith(_write_head()):
        with closing(sqlite3.connect(path)) as opened:
            opened.executescript(text)


def dump_tables() -> str:
    """Return the SQL of the tables that MLflow's migrations make, without what names a place."""
    with TemporaryDirectory() as folder, _migrated(Path(folder) / "mlflow.db") as opened:
        opened.execute("DELETE FROM experiments")  # MLflow adds its own to a store without any
        opened.commit()
        return "\n".join([_write_head(), *opened.iterdump(), ""])


@contextmanager
def _migrated(path: Path) -> Iterator[sqlite3.Connection]:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    SqlAlchemyStore(f"sqlite:///{path}", path.parent.as_uri()).engine.dispose()  # type: ignore[no-untyped-call]
    with closing(sqlite3.connect(path)) as opened:
        yield opened


def _write_head() -> str:
    return HEAD.format(version=metadata.version("mlflow"))


if __name__ == "__main__":
    FILE.write_text(dump_tables())
