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
from tools.project_files import declare_committed

CONFIG = "configs/bm25.yaml"
QUICK = "latency.queries=0"
BROKEN = "retriever.legs.keyword.depth=1"
DOUBTFUL = "retriever.legs.keyword.analyzer=words"


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
    declare_committed(reports / name)
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


def test_accept_and_show(call, baseline, run_id):
    assert baseline.name == "bm25@harbourline.json"
    shown = read(call("baseline", "show", "--json"), 0)
    assert [item["run"] for item in shown["baselines"]] == [run_id]
    check_refusal(call("baseline", "show", "nothing"), "nothing.json", "baseline accept")
    done = call("gate", run_id, "--baselines", str(baseline.parent / "none"))
    check_refusal(done, "no baseline", f"`assay baseline accept {run_id}`")
    check_refusal(
        call("baseline", "accept", CONFIG), f"not of a config; its newest run is {run_id}"
    )


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


def test_what_cannot_be_judged(call, baseline, run_id, tmp_path):
    junit, settings = tmp_path / "gate.xml", tmp_path / "gate.yaml"
    done = call("gate", CONFIG, QUICK, "limit=8", "--junit", str(junit), GITHUB_ACTIONS="true")
    check_refusal(done, "sample", "::error title=Gate%3A configs/bm25.yaml::")
    assert Xml.parse(junit).getroot().find("testsuite").get("errors") == "1"
    check_refusal(call("gate", CONFIG, QUICK, "name=other"), "other@harbourline.json", "accept")
    check_refusal(call("gate"), "Missing argument 'CONFIG'")
    check_refusal(call("gate", "no-such-run"), "no-such-run")
    check_refusal(call("gate", CONFIG, "--base", "nowhere"), "nowhere", "checkout")
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "code", "verdict"), [(QUICK, 0, "pass"), (f"{QUICK} {BROKEN}", 1, "regression")]
)
def test_the_action_runs_the_gate(baseline, reports, places, tmp_path, overrides, code, verdict):
    """The step of action.yml, run as GitHub's runner runs it."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    install, step = action["runs"]["steps"]
    inputs = {name: str(item.get("default", "")) for name, item in action["inputs"].items()}
    inputs |= {"config": CONFIG, "overrides": overrides}
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
    for script, expected in ((install["run"], 0), (step["run"], code)):
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == expected, done.stderr
    assert (tmp_path / "output").read_text() == f"verdict={verdict}\n"
    failure = Xml.parse(tmp_path / "junit").getroot().find("testsuite/testcase/failure")
    assert (failure is not None) == bool(code)
    assert (tmp_path / "markdown").read_text()
    assert action["outputs"]["verdict"]["value"] == "${{ steps.gate.outputs.verdict }}"
