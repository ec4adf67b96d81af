"""Fixtures of the judge's tests."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from assay.eval.runs.summary.summary import Summary


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the runs that the tests of a module share."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> "Summary":
    """The summary of the run whose report is tested."""
    from samples.report import make_run

    from assay.eval.runs.summary.summary import summarise

    return summarise(make_run(tmp_path_factory.mktemp("reports")))
