"""What each command says of the sample collections: its JSON, its verdict and that of its page.

A change that moves one is committed with a word why: `APPROVE=1 pytest tests/goldens` writes them.
"""

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from goldens.golden_values import find_differences, mask, read_lead, read_verdict, write
from tools.processes import ROOT, finish, start

HERE = Path(__file__).parent
APPROVED = HERE / "approved"
COMMANDS: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "commands.yaml").read_text())


class Scenario:
    """A folder of reports in which commands are called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reports = folder / "reports"
        self.environment = {
            "ASSAY_DATASET": "harbourline",
            "ASSAY_REPORTS": str(self.reports),
            "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
            "ASSAY_TRUST": "1",
            "OPENAI_API_KEY": "",
        }
        self.places = {str(folder): "<folder>", str(ROOT): "<root>"}

    def call(self, command: str, status: int, *more: str, folder: str = "") -> str:
        """Return what a command prints that ends with `status` and writes its files to `folder`."""
        runs = sorted(self.reports.glob("*/run.trec"), key=lambda path: path.stat().st_mtime)
        place = self.folder / folder
        place.mkdir(exist_ok=True)
        words = shlex.split(command.format(folder=place, run=runs[-1].parent if runs else ""))
        done = finish(start(*words, *more, environment=self.environment))
        assert done.returncode == status, done.stderr
        return done.stdout

    def commit(self) -> None:
        """Let stored runs say that they were made from a commit, whatever the work tree is."""
        for path in self.reports.glob("*/manifest.json"):
            manifest = json.loads(path.read_text())
            manifest["environment"]["git"] = {"commit": "a" * 40, "dirty": False}
            path.write_text(json.dumps(manifest))


@pytest.fixture
def scenario(tmp_path):
    return Scenario(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * asked.get("slow", False))
        for name, asked in COMMANDS.items()
    ],
)
def test_a_command_says_what_is_approved(name, scenario):
    asked = COMMANDS[name]
    if not asked.get("data"):
        scenario.environment["ASSAY_DATA"] = ""
    elif not os.environ.get("ASSAY_DATA"):
        pytest.skip("ASSAY_DATA names no folder of judged sets")
    status = asked.get("status", 0)
    value: dict[str, Any] = {"command": asked["command"]}
    faces = {"json": ("--json",)} if asked.get("json", True) else {}
    faces |= {"screen": ()} if asked.get("screen", True) else {}
    for face, options in faces.items():
        for before in asked.get("before", ()):
            scenario.call(before, 0, folder=face)
            scenario.commit()
        printed = scenario.call(asked["command"], status, *options, folder=face)
        told = json.loads(printed) if face == "json" else read_verdict(printed)
        if face == "json" and (page := find_page(told)):
            value["page"] = mask(read_lead(page), scenario.places)
        value[face] = mask(told, scenario.places, asked.get("mask", ()))
    path = APPROVED / f"{name}.json"
    if os.environ.get("APPROVE"):
        write(path, value)
    differences = find_differences(json.loads(path.read_text(encoding="utf-8")), value)
    assert not differences, "\n".join(differences[:40])


def find_page(told):
    """Return the page that a result names, if there is one."""
    page = told.get("report") if isinstance(told, dict) else None
    return ROOT / page if page and page.endswith(".html") else None


def test_each_command_is_in_the_table_and_each_approved_output_has_a_command():
    assert {path.stem for path in APPROVED.glob("*.json")} == set(COMMANDS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a": 0.5}, {"a": 0.51}),
        ({"a": "by 0.50"}, {"a": "by 0.51"}),
        ({"a": 1}, {"b": 1}),
        ([1, 2], [1]),
        ({"a": True}, {"a": 1}),
        ({"a": "better"}, {"a": "worse"}),
    ],
)
def test_a_difference_is_found(old, new):
    assert find_differences(old, new)
    assert not find_differences(old, old)
