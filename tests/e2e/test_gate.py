"""The gate, baselines and comparisons as a user meets them: exit codes and every output."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
import yaml
from tools.busy_machine import spinning
from tools.processes import ASSAY, ROOT

CONFIG = "configs/bm25.yaml"
QUICK = "latency.queries=0"
BROKEN = "retriever.legs.keyword.depth=1"
DOUBTFUL = "retriever.legs.keyword.analyzer=words"


def commit(folder):
    """Let a stored run look as one of committed code, which the tree under test may not be."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["environment"]["git"] = {"commit": "a" * 40, "dirty": False}
    path.write_text(json.dumps(manifest))


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    return tmp_path_factory.mktemp("gate") / "reports"


@pytest.fixture(scope="module")
def call(assay, reports):
    """Call the command line on reports of this module's own, off GitHub unless told."""

    def run(*arguments, **environment):
        return assay(
            *arguments, **({"ASSAY_REPORTS": str(reports), "GITHUB_ACTIONS": ""} | environment)
        )

    return run


@pytest.fixture(scope="module")
def run_id(call, reports):
    """The id of a run of the config."""
    done = call("run", CONFIG, QUICK, "--no-track", "--json")
    assert done.returncode == 0, done.stderr
    name = str(json.loads(done.stdout)["run"])
    commit(reports / name)
    return name


@pytest.fixture(scope="module")
def baseline(call, run_id):
    """The accepted baseline."""
    done = call("baseline", "accept", run_id, "--json")
    assert done.returncode == 0, done.stderr
    return Path(json.loads(done.stdout)["baseline"])


def read(done, code):
    """Return the one JSON object that a call printed, and nothing else, with this exit code."""
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def check_refusal(done, *words):
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def drop_last_line(path):
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def test_accept_and_show(call, baseline, run_id):
    assert baseline.name == "bm25@harbourline.json"
    shown = read(call("baseline", "show", "--json"), 0)
    assert [item["run"] for item in shown["baselines"]] == [run_id]
    text = call("baseline", "show", "bm25@harbourline").stdout
    assert "60 queries" in text
    assert run_id in text
    check_refusal(call("baseline", "show", "nothing"), "nothing.json", "baseline accept")
    done = call("gate", run_id, "--baselines", str(baseline.parent / "none"))
    check_refusal(done, "no baseline", f"`assay baseline accept {run_id}`")
    check_refusal(
        call("baseline", "accept", CONFIG), f"not of a config; the newest of it is {run_id}"
    )


@pytest.mark.slow
def test_pass(call, baseline, run_id):
    report = read(call("gate", CONFIG, QUICK, "--json"), 0)
    assert report["verdict"] == "pass"
    assert report["run"] == report["baseline"]["run"] == run_id
    assert [item["measure"] for item in report["measures"]] == ["nDCG@10", "MRR@10", "Recall@20"]
    assert report == read(call("gate", run_id, "--json"), 0)
    page = Path(report["report"])
    assert "<h1>Gate: Pass, but weak (bm25@harbourline)</h1>" in page.read_text()
    assert json.loads(page.with_name("gate.json").read_text())["verdict"] == "pass"
    text = call("gate", run_id)
    assert text.returncode == 0
    assert report["verdict_text"].partition(".")[0] in text.stdout
    assert all(item["margin"] > item["minimum_effect"] for item in report["measures"])


def test_regression_in_every_output(call, baseline, tmp_path):
    junit, markdown = tmp_path / "out" / "gate.xml", tmp_path / "gate.md"
    summary, output = tmp_path / "summary.md", tmp_path / "output"
    done = call(
        "gate", CONFIG, QUICK, BROKEN, "--json",
        "--junit", str(junit), "--markdown", str(markdown),
        GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary), GITHUB_OUTPUT=str(output),
    )  # fmt: skip
    report = read(done, 1)
    assert report["verdict"] == "regression"
    assert "retriever.legs.keyword.depth: 100 → 1" in report["changes"]
    suite = Xml.parse(junit).getroot().find("testsuite")
    assert suite.get("tests") == "3"
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert "Recall@20" in failed
    assert suite.get("failures") == str(len(failed))
    assert "# Gate: Regression (bm25@harbourline)\n" in markdown.read_text()
    assert summary.read_text() == markdown.read_text()
    assert output.read_text() == "verdict=regression\n"
    assert "::error title=bm25@harbourline%3A Recall@20::regression: " in done.stderr
    text = call("gate", CONFIG, QUICK, BROKEN)
    assert text.returncode == 1
    assert "::" not in text.stderr
    assert "regression" in text.stdout


@pytest.mark.slow
def test_doubt(call, baseline):
    done = call("gate", CONFIG, QUICK, DOUBTFUL, "--github")
    assert done.returncode == 0
    assert "cannot tell" in done.stdout
    assert "::warning title=Gate%3A bm25@harbourline::Cannot tell: " in done.stderr
    assert call("gate", CONFIG, QUICK, DOUBTFUL, "--strict").returncode == 1


@pytest.mark.slow
def test_a_query_that_must_not_break(call, baseline, tmp_path):
    report = read(call("gate", CONFIG, QUICK, DOUBTFUL, "--json"), 0)
    lost = report["losers"][0]["query"]
    settings = tmp_path / "gate.yaml"
    values = {
        "measures": {"nDCG@10": 0.02},
        "assumed_moves": 0.0,
        "must_not_break": {"measure": "nDCG@10", "queries": {"harbourline": [lost]}},
    }
    settings.write_text(yaml.safe_dump(values))
    arguments = ("gate", CONFIG, QUICK, DOUBTFUL, "--settings", str(settings), "--json")
    report = read(call(*arguments), 1)
    assert [item["query"] for item in report["must_not_break"]["broken"]] == [lost]
    assert report["measures"][0]["verdict"] == "cannot tell"


def test_what_cannot_be_judged(call, baseline, tmp_path):
    junit = tmp_path / "gate.xml"
    done = call("gate", CONFIG, QUICK, "limit=8", "--junit", str(junit), GITHUB_ACTIONS="true")
    check_refusal(done, "sample", "::error title=Gate%3A configs/bm25.yaml::")
    suite = Xml.parse(junit).getroot().find("testsuite")
    assert suite.get("errors") == "1"
    check_refusal(call("gate", CONFIG, QUICK, "name=other"), "other@harbourline.json", "accept")
    check_refusal(call("gate"), "Missing argument 'CONFIG'")
    check_refusal(call("gate", "no-such-run"), "no-such-run")
    check_refusal(call("gate", CONFIG, "--base", "nowhere"), "nowhere", "checkout")


@pytest.mark.slow
def test_a_changed_collection_is_not_the_pipelines_fault(call, baseline, tmp_path):
    """The edit alone passes; a regression planted beside it is the pipeline's."""
    changed = tmp_path / "harbourline"
    shutil.copytree(ROOT / "datasets" / "harbourline", changed)
    drop_last_line(changed / "spans.jsonl")
    copies = tmp_path / "baselines"
    shutil.copytree(baseline.parent, copies)
    options = (QUICK, f"dataset={changed}", "--baselines", str(copies), "--accept-corpus")
    before = (copies / baseline.name).read_text()
    broken = call("gate", CONFIG, BROKEN, *options, "--json")
    report = read(broken, 1)
    assert report["verdict"] == "regression"
    assert report["collection_change"]["same_pipeline"] is False
    assert report["collection_change"]["what"] == "judgments: 1 removed"
    assert "is left as it is, since the gate fails" in broken.stderr
    assert (copies / baseline.name).read_text() == before
    passed = call("gate", CONFIG, *options, "--json")
    report = read(passed, 0)
    assert report["verdict"] == "pass"
    assert report["collection_change"]["same_pipeline"] is True
    assert {item["difference"]["value"] for item in report["measures"]} == {0.0}
    effects = report["collection_change"]["effects"]
    assert {item["difference"]["value"] for item in effects if item["source"] == "corpus"} == {0.0}


def test_settings_that_make_no_sense(call, baseline, run_id, tmp_path):
    settings = tmp_path / "gate.yaml"
    check_refusal(call("gate", run_id, "--settings", str(settings)), str(settings), "no such file")
    settings.write_text("measures: {P@7: 0.1}")
    check_refusal(call("gate", run_id, "--settings", str(settings)), "P@7", "accept a new one")


@pytest.fixture
def older(tmp_path):
    """A checkout of another version: the same code, but every search takes 5 ms more."""
    folder = tmp_path / "older"
    folder.mkdir()
    for name in ("eval", "configs", "datasets"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "assay", folder / "assay", symlinks=True)
    shutil.copytree(ROOT / "retrievers", folder / "retrievers")
    source = folder / "retrievers" / "pipeline" / "pipeline.py"
    signature = "def search(self, query: str, k: int) -> Ranking:\n"
    text = source.read_text()
    assert signature in text
    source.write_text(text.replace(signature, f"{signature}        time.sleep(0.005)\n"))
    return folder


@pytest.mark.slow
def test_latency_against_a_checkout_and_a_config(call, baseline, older, tmp_path):
    anywhere = tmp_path / "gate.yaml"  # on a machine that is busy, too
    shipped = (ROOT / "configs/gate.yaml").read_text()
    anywhere.write_text(shipped.replace("busy: 0.1", "busy: 1.0"))
    options = ("--settings", str(anywhere), "--json")
    faster = read(call("gate", CONFIG, "--base", str(older), *options), 0)
    assert [item["verdict"] for item in faster["latency"]] == ["pass", "pass"]
    assert all(item["ratio"]["high"] < 0.5 for item in faster["latency"])
    (tmp_path / "instant.py").write_text(
        "from assay.retrievers.base import IndexReport, Ranking, Retriever\n"
        "class Instant(Retriever):\n"
        "    def index(self, documents): return IndexReport(0)\n"
        "    def search(self, query, k): return Ranking(())\n"
    )
    config = tmp_path / "instant.yaml"
    config.write_text('name: instant\nretriever: {type: python, path: "instant:Instant"}\n')
    base = ("--base", str(config))
    slower = read(call("gate", CONFIG, *base, *options, PYTHONPATH=str(tmp_path)), 1)
    assert {item["verdict"] for item in slower["measures"]} == {"pass"}
    assert [item["verdict"] for item in slower["latency"]] == ["regression", "regression"]
    with spinning():  # what is so plainly slower is not judged there
        busy = read(call("gate", CONFIG, *base, "--json", PYTHONPATH=str(tmp_path)), 0)
    assert [item["verdict"] for item in busy["latency"]] == ["cannot tell", "cannot tell"]
    assert all(item["load"]["others"] > 0.1 for item in busy["latency"])


def test_comparisons_that_make_no_sense(call, run_id, tmp_path):
    check_refusal(call("compare", run_id), "two runs")
    check_refusal(call("compare", run_id, run_id), "given twice")
    check_refusal(call("compare", run_id, run_id, "k=1"), "k=1", "config")
    check_refusal(call("compare", run_id, CONFIG, "--measures", "nDCG@ten"), "nDCG@ten")
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(ROOT / "datasets" / "harbourline", elsewhere)
    card = (elsewhere / "dataset.yaml").read_text()
    (elsewhere / "dataset.yaml").write_text(card.replace("name: harbourline", "name: elsewhere"))
    drop_last_line(elsewhere / "spans.jsonl")
    done = call("compare", run_id, CONFIG, QUICK, f"dataset={elsewhere}")
    check_refusal(done, "the collections are harbourline and elsewhere")


@pytest.mark.slow
def test_the_action_runs_the_gate(baseline, reports, places, tmp_path):
    """The step of action.yml, run as GitHub's runner runs it."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    install, step = action["runs"]["steps"]
    inputs = {name: str(item.get("default", "")) for name, item in action["inputs"].items()}
    inputs |= {"config": CONFIG, "overrides": f"{QUICK} {BROKEN}"}
    inputs |= {name: str(tmp_path / name) for name in ("junit", "markdown")}
    variables = {
        name: inputs[text.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, text in step["env"].items()
    }
    environment = os.environ | places | variables
    environment |= {
        "ASSAY_REPORTS": str(reports),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "PATH": f"{ASSAY.parent}{os.pathsep}{os.environ['PATH']}",
    }
    for script, code in ((install["run"], 0), (step["run"], 1)):
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
    assert (tmp_path / "output").read_text() == "verdict=regression\n"
    assert Xml.parse(tmp_path / "junit").getroot().find("testsuite/testcase/failure") is not None
    assert action["outputs"]["verdict"]["value"] == "${{ steps.gate.outputs.verdict }}"
