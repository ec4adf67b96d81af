import os
import shutil

import pytest
from samples.tracked_run import make_summary

from assay.eval.tracking.store import connect


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    """A SQLite store of tables only, which take seconds to make."""
    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    with connect(f"sqlite:///{path}"):
        return path


@pytest.fixture
def store(empty_store, tmp_path):
    """An empty SQLite store in the working directory."""
    shutil.copy(empty_store, tmp_path / "mlflow.db")


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("MLFLOW_"):
            monkeypatch.delenv(name)


@pytest.fixture
def summary(tmp_path):
    return make_summary(tmp_path / "reports")
