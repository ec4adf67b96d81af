"""What an installation without extras can do: every package of an extra is missing here."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from tools.processes import ROOT

pytestmark = pytest.mark.slow

BLOCK = """
import importlib.abc, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
import importlib.util
find, gone = importlib.util.find_spec, {missing!r}
importlib.util.find_spec = lambda name: None if name.partition(".")[0] in gone else find(name)
from assay.eval.cli.main import main
main()
"""


def find_needed(requirement, seen):
    """Yield the names of the distributions that a requirement brings, its own among them."""
    wanted = Requirement(requirement)
    name = re.sub(r"[-_.]+", "-", wanted.name).lower()
    for extra in wanted.extras or {""}:
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        yield name
        try:
            further = requires(name) or []
        except PackageNotFoundError:
            continue
        for line in further:
            marker = Requirement(line).marker
            if marker is None or marker.evaluate({"extra": extra}):
                yield from find_needed(line, seen)


@pytest.fixture(scope="module")
def missing():
    """The modules that no dependency of the base brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    seen = set()
    needed = {name for line in project["dependencies"] for name in find_needed(line, seen)}
    needed |= {"retrieval-assay", "pip", "setuptools"}
    return sorted(
        module
        for module, owners in packages_distributions().items()
        if not needed & {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}
        and module not in ("assay", "eval", "retrievers")
    )


@pytest.fixture
def call(missing, tmp_path):
    """Calls the command line in a folder with two documents and two questions."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "meter.md").write_text("# Meter\n\nHold the button for five seconds to reset it.\n")
    (docs / "power.md").write_text("# Power\n\nBatteries last for two years.\n")
    (tmp_path / "questions.csv").write_text(
        "question,document,quote\n"
        "How do I reset the meter?,meter.md,Hold the button for five seconds\n"
        "How long do batteries last?,power.md,Batteries last for two years\n"
    )

    def run(*words):
        code = BLOCK.format(missing=set(missing))
        return subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def test_the_demo_needs_no_extra(call, tmp_path):
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval/__init__.py").write_text("WHOSE = 'theirs'\n")
    done = call("demo", "--output", "demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("hybrid is better than bm25 for new questions ")
    assert list(tmp_path.glob("demo/compare-*/report.html"))


def test_documents_are_judged_without_an_extra(call, missing):
    assert {"mlflow", "markitdown", "sqlalchemy", "matplotlib"} <= set(missing)
    made = call("init", "docs", "--questions", "questions.csv", "--name", "mine")
    assert made.returncode == 0, made.stderr
    ran = call("run", "bm25", "--dataset", "mine")
    assert ran.returncode == 0, ran.stderr
    assert "Not logged: MLflow needs the extra `mlflow`: " in ran.stderr
    assert "nDCG@10" in ran.stdout
    logged = call("log", "bm25-mine")
    assert logged.returncode == 2
    assert logged.stderr.startswith("assay: MLflow needs the extra `mlflow`: ")
    quiet = call("compare", "bm25", "semantic", "--dataset", "mine", "--no-track")
    assert quiet.returncode == 0, quiet.stderr
    assert "MLflow" not in quiet.stderr


def test_other_formats_name_the_extra_that_reads_them(call, tmp_path):
    (tmp_path / "docs/page.html").write_text("<h1>Page</h1><p>Words.</p>")
    made = call("init", "docs", "--questions", "questions.csv", "--name", "mine")
    assert made.returncode == 2
    assert "converting files to Markdown needs the extra `documents`: " in made.stderr
    assert "Traceback" not in made.stderr
    assert not (tmp_path / "datasets").exists()
