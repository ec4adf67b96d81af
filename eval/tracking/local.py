"""A tracking store in a SQLite file: created completely, and again if it was never finished.

MLflow creates its tables in some eighty steps without a common transaction. Interrupted between
them, it can neither continue nor start again: "table … already exists". A store with any entry of
a user, or of another MLflow version, is never moved, changed or upgraded here.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

SQLITE = "sqlite:///"
JOURNALS = ("-journal", "-wal", "-shm")
VERSION = "alembic_version"
DEFAULTS = {  # the rows that MLflow puts in a new store itself
    "experiments": "experiment_id <> 0",
    "workspaces": "name <> 'default'",
}


def database(uri: str) -> Path | None:
    """Return the file of a SQLite store; None for any other."""
    return Path(uri.removeprefix(SQLITE)) if uri.startswith(SQLITE) else None


def artifacts(path: Path) -> Path:
    """Return the folder of the artifacts that belong to the SQLite store in `path`."""
    return path.parent / "mlruns"


def open_local(path: Path) -> "MlflowClient":
    """Return a client of the store in the file `path`, which no other process may be opening.

    The tables are created in another file of the same folder, which is renamed when they are
    complete. Half-made tables without content are set aside, with a line on standard error, and
    created again; MLflow never opens them, since it would hold them open.
    Raises ValueError for the store of another MLflow, and for a database of something else.
    """
    from mlflow.tracking import MlflowClient

    if path.exists() and path.stat().st_size and not _is_whole(path):
        aside = path.with_name(f"{path.name}.broken-{datetime.now(UTC):%Y%m%dT%H%M%S}")
        path.rename(aside)
        print(
            f"warning: {path}: half made and empty; set aside as {aside.name}, made anew",
            file=sys.stderr,
        )
    if not path.exists() or not path.stat().st_size:
        _make(path)
    return MlflowClient(f"{SQLITE}{path.as_posix()}")


def holds(path: Path, run_id: str) -> bool:
    """Return True if the store in `path` has a complete MLflow run that is not deleted.

    It is read as a plain database, since MLflow takes over a second to be imported. False where
    that shows nothing: it is then for MLflow to say.
    """
    wanted = "SELECT status, lifecycle_stage FROM runs WHERE run_uuid = ?"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1)) as opened:
            return bool(opened.execute(wanted, [run_id]).fetchone() == ("FINISHED", "active"))
    except sqlite3.Error:
        return False


@contextmanager
def skip_syncs(path: Path) -> Iterator[None]:
    """Have the connections that are opened to the SQLite file `path` never wait for the disk.

    Waiting at each of its steps is most of what MLflow takes to make its tables.
    """
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    def skip(opened: Any, _: object) -> None:
        if isinstance(opened, sqlite3.Connection):
            _, _, file = opened.execute("PRAGMA database_list").fetchone()
            if Path(file).name == path.name:
                opened.execute("PRAGMA synchronous = OFF")

    event.listen(Engine, "connect", skip)
    try:
        yield
    finally:
        event.remove(Engine, "connect", skip)


def _make(path: Path) -> None:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    partial = path.with_name(f"{path.name}.partial")  # which .gitignore's mlflow.db* leaves out
    try:
        _remove(partial)  # what a killed process left
        with skip_syncs(partial):
            store: Any = SqlAlchemyStore(f"{SQLITE}{partial.as_posix()}", artifacts(path).as_uri())  # type: ignore[no-untyped-call]
            store.engine.dispose()
        with partial.open("rb+") as made:
            os.fsync(made)
        for journal in JOURNALS:  # of a store that is no more: it would be laid on the new one
            Path(f"{path}{journal}").unlink(missing_ok=True)
        partial.replace(path)
    finally:
        _remove(partial)


def _remove(path: Path) -> None:
    for suffix in ("", *JOURNALS):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    """Return True if MLflow finished its tables, or if only MLflow can decide that.

    Raises ValueError if they are not those of this MLflow and hold more than it writes itself.
    """
    import mlflow
    from alembic.script import ScriptDirectory

    migrations = ScriptDirectory(str(Path(mlflow.__file__).parent / "store/db_migrations"))
    try:
        with closing(sqlite3.connect(path, timeout=1)) as opened:
            version, begun = _read_version(opened), _is_begun(opened)
    except sqlite3.Error:
        return True
    if version == migrations.get_current_head():
        return True
    known = version is None or any(one.revision == version for one in migrations.walk_revisions())
    if known and not begun:
        return False
    if version is None:
        raise ValueError("is no whole store of MLflow, and holds something; nothing was changed")
    if known:
        raise ValueError(
            f"was made by an older MLflow (schema {version}); nothing was changed. Copy the file, "
            f"then run: mlflow db upgrade {SQLITE}{path.as_posix()}"
        )
    raise ValueError(
        f"was made by a newer MLflow than {mlflow.__version__} (schema {version}); nothing was "
        "changed. Install that one, or name another store in MLFLOW_TRACKING_URI"
    )


def _read_version(opened: sqlite3.Connection) -> str | None:
    if VERSION not in _list_tables(opened):
        return None
    row = opened.execute(f"SELECT version_num FROM {VERSION}").fetchone()
    return row[0] if row else None


def _is_begun(opened: sqlite3.Connection) -> bool:
    """Return True if the tables have a user's row, are not MLflow's, or were once complete."""
    # This module has registered all tables, unlike that of the class.
    from mlflow.store.db.utils import Base  # type: ignore[attr-defined]

    tables = _list_tables(opened) - {VERSION}
    # MLflow makes the default experiment after all of its tables.
    defaults = DEFAULTS if _read_version(opened) is None else DEFAULTS | {"experiments": "TRUE"}
    return not tables <= Base.metadata.tables.keys() or any(
        opened.execute(
            f'SELECT 1 FROM "{table}" WHERE {defaults.get(table, "TRUE")} LIMIT 1'
        ).fetchone()
        for table in tables
    )


def _list_tables(opened: sqlite3.Connection) -> set[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    return {
        name
        for (name,) in opened.execute(query)
        if not name.startswith(("sqlite_", "_alembic_tmp_"))
    }
