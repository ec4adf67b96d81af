"""Fixtures that call the command line."""

import json
import subprocess
from collections.abc import Callable

import pytest
from tools.processes import finish, start

Assay = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def places(tmp_path_factory):
    """Environment that keeps a test session's reports and tracking apart from the user's, with a
    small collection where a test names none."""
    folder = tmp_path_factory.mktemp("assay")
    return {
        "ASSAY_DATASET": "harbourline",
        "ASSAY_TRUST": "1",  # configs that name Python are written outside the project
        "ASSAY_REPORTS": str(folder / "reports"),
        "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
    }


@pytest.fixture
def environment(places, tmp_path):
    """Environment with reports of a test's own, in which no config's Python is trusted."""
    return places | {"ASSAY_REPORTS": str(tmp_path / "reports"), "ASSAY_TRUST": ""}


@pytest.fixture
def own(environment):
    """Call the command line with reports of a test's own; extra environment by keyword."""

    def call(*arguments, **more):
        return finish(start(*map(str, arguments), environment=environment | more))

    return call


@pytest.fixture
def own_json(own):
    """Call a command with --json and reports of a test's own; it must succeed."""

    def call(*arguments):
        done = own(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture(scope="session")
def assay(places):
    """Call the command line; extra environment by keyword."""

    def call(*arguments, **environment):
        return finish(start(*arguments, environment=places | environment))

    return call


@pytest.fixture(scope="session")
def assay_json(assay):
    """Call a command with --json; it must succeed and print one JSON object and nothing else."""

    def call(*arguments, **environment):
        done = assay(*arguments, "--json", **environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call
