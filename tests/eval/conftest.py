"""Fixtures of the judge's tests."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for the runs that the tests of a module share."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    """The summary of the run whose report is tested."""
    from samples.report import make_run

    from assay.eval.runs.summary.summary import summarise

    return summarise(make_run(tmp_path_factory.mktemp("reports")))
