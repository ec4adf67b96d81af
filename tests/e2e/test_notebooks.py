"""`make notebooks`, from no runs at all to two pages."""

import os
import re
import subprocess
import sys

import pytest
from tools.processes import ROOT

pytestmark = pytest.mark.slow

PAGES = ("compare_runs", "failure_analysis")
SCRIPT = ROOT / "scripts" / "notebooks.py"


def execute(folder, **environment):
    places = {
        "ASSAY_DATASET": "harbourline",
        "ASSAY_REPORTS": str(folder / "reports"),
        "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
    }
    return subprocess.run(
        [sys.executable, str(SCRIPT)],
        cwd=ROOT,
        env=os.environ | places | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The rendered notebooks."""
    folder = tmp_path_factory.mktemp("notebooks")
    before = {path: path.read_bytes() for path in (ROOT / "notebooks").iterdir()}
    done = execute(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path: path.read_bytes() for path in (ROOT / "notebooks").iterdir()} == before
    return {name: (folder / f"reports/notebooks/{name}.html").read_text() for name in PAGES}


@pytest.mark.parametrize("name", PAGES)
def test_every_cell_ran_without_a_complaint(pages, name):
    page = pages[name]
    executed = re.findall(r">In\s\[(.*?)\]:<", page)
    assert executed == [str(number) for number in range(1, 1 + len(executed))]
    assert len(executed) > 8
    assert not re.search(r"<div[^>]*/vnd\.jupyter\.(?:stderr|error)", page)
    assert page.count("data:image/svg+xml;base64,") >= 3
    assert "dataframe" in page
    assert "harbourline" in page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_needs_nothing_else_and_runs_nothing(pages, name):
    page = pages[name]
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert all(link.startswith("data:") for link in re.findall(r'src="([^"]*)', page))
    linked = {link for link in re.findall(r'href="([^"]*)', page) if not link.startswith("#")}
    assert linked <= {f"{other}.html" for other in PAGES}


def test_both_tell_of_the_pipelines_they_need(pages):
    for name in ("bm25", "semantic", "hybrid_rrf"):
        assert f"<th>{name}</th>" in pages["compare_runs"]
    for text in ("hybrid_rrf", "is worse than hybrid_rrf", "rank", "passage"):
        assert text in pages["failure_analysis"]
    assert 'aria-label="95 % intervals"' in pages["failure_analysis"], "bars of a result"


def test_a_run_that_cannot_be_made_is_told_in_one_line(tmp_path):
    done = execute(tmp_path, ASSAY_THREADS="none")
    assert done.returncode == 2
    assert done.stderr.startswith("notebooks: ASSAY_THREADS: 'none'")
    assert "Traceback" not in done.stderr
