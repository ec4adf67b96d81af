"""The commands that are tortured, each in a folder of its own, and what must come of them."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COLLECTION = ROOT / "datasets" / "harbourline"
CONFIG = f"base: {ROOT}/configs/bm25.yaml\ndataset: mine\nlatency: {{queries: 0}}\n"
CALL = [sys.executable, "-c", "from eval.cli.main import main; main()"]
QUESTIONS = "question,quote\nWhat may passengers choose?,the passenger may choose between\n"


@dataclass(frozen=True)
class Command:
    """A call of `assay`; `show` tells what came of it, which no kill before may change."""

    name: str
    arguments: Sequence[str]
    show: Callable[[Path, dict[str, Any]], Any]


def prepare(folder: Path) -> None:
    """Fill a new folder with a collection, a config, a stored run, and a table of grades."""
    shutil.copytree(COLLECTION, folder / "datasets" / "mine", ignore=shutil.ignore_patterns("R*"))
    card = folder / "datasets" / "mine" / "dataset.yaml"
    card.write_text(card.read_text().replace("name: harbourline", "name: mine"))
    (folder / "mine.yaml").write_text(CONFIG)
    (folder / "questions.csv").write_text(QUESTIONS)
    run = json.loads(call(folder, "run", "mine.yaml", "--no-track", "--json").stdout)["run"]
    (folder / "stored").write_text(run)
    done = call(folder, "pool", run, "--output", "pool.csv")
    if done.returncode:
        raise RuntimeError(done.stderr)
    rows = list(csv.DictReader((folder / "pool.csv").open(encoding="utf-8-sig", newline="")))
    with (folder / "pool.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "grade": "0"} for row in rows)


def list_commands(folder: Path, *, track: bool) -> list[Command]:
    """Return the commands; with `track` those too that log to MLflow, which take longer."""
    run = (folder / "stored").read_text()
    commands = [
        Command("run", ["run", "mine.yaml", "--no-track", "--again"], _measures),
        Command("label", ["label", "pool.csv"], _judgments),
        Command("init", ["init", "datasets/mine/docs", "--questions", "questions.csv",
                         "--name", "made", "--force"], _found),
        Command("ingest", ["ingest", "datasets/mine/docs", "--no-track"], _documents),
        Command("report", ["report", run], _stored),
        Command("seal", ["dataset", "seal", "mine"], _judgments),
    ]  # fmt: skip
    if track:
        commands.append(Command("log", ["log", run], _stored))
    return commands


def start(folder: Path, arguments: Sequence[str], **environment: str) -> "subprocess.Popen[str]":
    """Start `assay` in `folder`, with everything it keeps below it."""
    return subprocess.Popen(
        [*CALL, *arguments],
        cwd=folder,
        env=_environment(folder) | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def call(folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run `assay` to its end."""
    process = start(folder, arguments, **environment)
    output, errors = process.communicate(timeout=300)
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


def _environment(folder: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MLFLOW_")}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "ASSAY_CACHE": str(folder / "cache"),
        "ASSAY_REPORTS": str(folder / "reports"),
    }


def _measures(_folder: Path, said: dict[str, Any]) -> Any:
    return said["measures"]


def _judgments(folder: Path, _said: dict[str, Any]) -> Any:
    checked = call(folder, "dataset", "check", "mine")
    return checked.returncode, (folder / "datasets" / "mine" / "spans.jsonl").read_text()


def _found(folder: Path, _said: dict[str, Any]) -> Any:
    return (folder / "datasets" / "made" / "judgments.jsonl").read_text()


def _documents(_folder: Path, said: dict[str, Any]) -> Any:
    return [entry["id"] for entry in said["documents"]]


def _stored(_folder: Path, said: dict[str, Any]) -> Any:
    return sorted(said)
