"""A keyword leg that fails, through everything that reads a run; the faults are real ones."""

import json
import shutil
from pathlib import Path

import pytest

from assay.eval.cli.main import main
from assay.eval.runs.stored import load
from assay.retrievers.legs.keyword import KeywordLeg

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
    done = call("run", str(config), "limit=4", *QUICK)
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "warning:" in line]
    assert len(warnings) == 1
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
    shown = call("run", str(config), "limit=4", "latency.queries=0", "--no-track")
    assert "degraded on 4 of 4 queries" in " ".join(shown.stdout.split())

    refused = call("baseline", "accept", summary["run"], "--baselines", str(tmp_path / "b"))
    assert refused.returncode == 2
    assert f"degraded on 4 of its queries ({LINE}" in refused.stderr
    assert not (tmp_path / "b").exists()

    # Once the fault is mended the same command searches again, whole.
    (cache / "bm25").unlink()
    mended = json.loads(call("run", str(config), "limit=4", *QUICK).stdout)
    assert mended["degraded"] == {}
    assert mended["run"] != summary["run"]
    again = json.loads(call("run", str(config), "limit=4", *QUICK).stdout)
    assert again["run"] == mended["run"]


@pytest.mark.slow
def test_the_gate_does_not_judge_a_degraded_run(call, cache, config, tmp_path):
    whole = json.loads(call("run", str(config), *QUICK).stdout)
    manifest = tmp_path / "reports" / whole["run"] / "manifest.json"
    content = json.loads(manifest.read_text())
    content["environment"]["git"] = {"commit": "a" * 40, "dirty": False}
    manifest.write_text(json.dumps(content))
    baselines = ("--baselines", str(tmp_path / "baselines"))
    accepted = call("baseline", "accept", whole["run"], *baselines)
    assert accepted.returncode == 0, accepted.stderr
    shutil.rmtree(cache / "bm25")
    break_index(cache)
    degraded = json.loads(call("run", str(config), "--rerun", *QUICK).stdout)
    judged = call("gate", degraded["run"], *baselines)
    assert judged.returncode == 2
    assert "degraded on" in " ".join((judged.stderr + judged.stdout).split())


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


@pytest.mark.long
def test_a_leg_that_fails_in_the_middle_of_a_run(config, tmp_path, monkeypatch, capsys):
    asked = []
    search = KeywordLeg.search

    def fail(leg, query, depth):
        asked.append(query)
        if len(asked) == 2:
            raise OSError("the disk\nwent away")
        return search(leg, query, depth)

    monkeypatch.setattr(KeywordLeg, "search", fail)
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    with pytest.raises(SystemExit) as ended:
        main(["run", str(config), "limit=4", *QUICK])
    assert not ended.value.code
    summary = json.loads(capsys.readouterr().out)
    assert summary["degraded"] == {
        "the keyword leg words cannot be asked: the disk went away; searched without it": 1
    }
    rankings = load(tmp_path / "reports" / summary["run"]).rankings.values()
    legs = [{name for hit in ranking.hits for name in hit.legs} for ranking in rankings]
    assert legs.count({"meaning"}) == 1
    assert legs.count({"meaning", "words"}) == 3
