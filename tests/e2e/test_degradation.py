"""A keyword leg that fails, through everything that reads a run; the faults are real ones."""

import json
from pathlib import Path

import pytest

from assay.eval.runs.stored import load

HYBRID = """name: faulty
retriever:
  legs: {meaning: {type: dense}, words: {type: bm25}}
  fusion: {type: rrf}
"""
QUICK = ("latency.queries=0", "--no-track", "--json")
LINE = "the keyword leg words cannot be built: "


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "faulty.yaml"
    path.write_text(HYBRID)
    return path


@pytest.fixture
def cache(tmp_path):
    """A cache of this test's own, but for the models and what they have embedded."""
    from assay.retrievers.store.cache import default_root

    root = tmp_path / "cache"
    root.mkdir()
    for name in ("models", "embeddings.sqlite"):
        if (default_root() / name).exists():
            (root / name).symlink_to(default_root() / name)
    return root


@pytest.fixture
def call(assay, tmp_path, cache):
    def run(*arguments):
        places = {"ASSAY_REPORTS": str(tmp_path / "reports"), "ASSAY_CACHE": str(cache)}
        return assay(*arguments, **places)

    return run


def break_index(cache):
    """Put a file where the folder of the keyword indexes has to be: no index can be written."""
    (cache / "bm25").write_text("")


@pytest.mark.slow
def test_an_index_that_cannot_be_built(call, cache, config, tmp_path):
    break_index(cache)
    run = ("run", str(config), "limit=4", *QUICK)
    done = call(*run)
    assert done.returncode == 0, done.stderr
    assert sum("warning:" in line for line in done.stderr.splitlines()) == 1
    assert LINE in " ".join(done.stderr.split())
    summary = json.loads(done.stdout)
    ((line, queries),) = summary["degraded"].items()
    assert line.startswith(LINE)
    assert line.endswith("; searched without it")
    assert queries == 4
    assert LINE in Path(summary["report"]).read_text()
    for ranking in load(tmp_path / "reports" / summary["run"]).rankings.values():
        assert ranking.degraded == (line,)
        assert {name for hit in ranking.hits for name in hit.legs} == {"meaning"}
    assert "degraded on 4 of 4 queries" in " ".join(call(*run[:-1]).stdout.split())

    refused = call("baseline", "accept", summary["run"], "--baselines", str(tmp_path / "b"))
    assert refused.returncode == 2
    assert f"degraded on 4 of its queries ({LINE}" in refused.stderr
    assert not (tmp_path / "b").exists()

    # Once the fault is mended the same command searches again, whole.
    (cache / "bm25").unlink()
    mended = json.loads(call(*run).stdout)
    assert mended["degraded"] == {}
    assert mended["run"] != summary["run"]
    assert json.loads(call(*run).stdout)["run"] == mended["run"]


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_without_a_semantic_leg_it_stops_with_one_line(mode, call, cache, config, tmp_path):
    if mode == "hybrid":
        config.write_text(HYBRID.replace("meaning: {type: dense}", "ids: {type: exact}"))
    break_index(cache)
    done = call("run", str(config), "limit=4", f"retriever.mode={mode}", *QUICK)
    assert done.returncode == 2
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("assay: "))
    assert line.startswith(f"assay: {LINE}")
    assert line.endswith("there is no semantic leg to search with")
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "reports").glob("faulty*"))
