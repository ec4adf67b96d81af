"""The commands that are tortured, each in a folder of its own, and what must come of them."""

import csv
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.eval.tracking.delivery import RUN
from torture.points import VARIABLE

ROOT = Path(__file__).parents[1]
COLLECTION = ROOT / "datasets" / "harbourline"
CONFIG = f"base: {ROOT}/configs/bm25.yaml\ndataset: mine\nlatency: {{queries: 0}}\n"
WATCH = "from torture.points import watch; watch()"
CALL = "from assay.eval.cli.main import main; main()"
HYBRID = f"base: {ROOT}/configs/hybrid.yaml\nname: both\ndataset: mine\nlatency: {{queries: 0}}\n"
SWEEP = "base: mine.yaml\naxes: {depth: [5, 10]}\ncollections: [mine]\n"
K1 = "retriever.legs.keyword.k1=1.0,1.4"
TARGETS = """
targets:
  T-1:
    criterion: found
    as_written: half is found
    measurements: [{type: score, pipeline: mine, dataset: mine, measure: Recall@20, at_least: 0.5}]
"""
ENGINES = ("qdrant-edge", "sqlite", "lancedb")
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
    (folder / "both.yaml").write_text(HYBRID)
    (folder / "sweep.yaml").write_text(SWEEP)
    (folder / "targets.yaml").write_text(TARGETS)
    (folder / "questions.csv").write_text(QUESTIONS)
    _write_rankings(folder / "datasets" / "mine", folder / "other.jsonl")
    run = _prepare(folder, "run", "mine.yaml", "--no-track")["run"]
    other = _prepare(folder, "import", "other.jsonl", "--dataset", "mine", "--no-track")["runs"]
    (folder / "stored").write_text(f"{run} {other[0]['run']}")
    _prepare(folder, "pool", run, "--output", "pool.csv")
    call(folder, "baseline", "accept", run)  # refused where the work tree is changed
    rows = list(csv.DictReader((folder / "pool.csv").open(encoding="utf-8-sig", newline="")))
    with (folder / "pool.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "grade": "0"} for row in rows)


def list_commands(folder: Path, *, track: bool) -> list[Command]:
    """Return the commands; with `track` those too that log to MLflow, which take longer."""
    run, other = (folder / "stored").read_text().split()
    commands = [
        Command("run", ["run", "mine.yaml", "--no-track", "--rerun"], _measures),
        Command("label", ["label", "pool.csv"], _judgments),
        Command("init", ["init", "datasets/mine/docs", "--questions", "questions.csv",
                         "--name", "made", "--force"], _found),
        Command("ingest", ["ingest", "datasets/mine/docs", "--config", "mine.yaml",
                           "--no-track"], _documents),
        Command("report", ["report", run], _stored),
        Command("seal", ["dataset", "seal", "mine"], _judgments),
        Command("import", ["import", "other.jsonl", "--dataset", "mine", "--no-track"], _stored),
        Command("compare", ["compare", run, other, "--no-track"], _stored),
        Command("sweep", ["sweep", "sweep.yaml", "--no-track"], _stored),
        Command("tune", ["tune", "mine.yaml", "--over", K1, "--folds", "2", "--repeats", "1",
                         "--output", "tuned.yaml", "--no-track"], _tuned),
        Command("targets", ["targets", "--file", "targets.yaml", "--output", "told",
                            "--no-track"], _stored),
    ]  # fmt: skip
    if (folder / "reports" / "baselines").exists():
        commands += [
            Command("baseline", ["baseline", "accept", run], _baseline),
            Command("gate", ["gate", run, "--junit", "gate.xml", "--markdown", "gate.md"], _gate),
        ]
    commands += [
        Command(f"run@{engine}", ["run", "both.yaml", "--engine", engine, "--no-track", "--rerun"],
                _measures)
        for engine in ENGINES
    ]  # fmt: skip
    if track:
        commands.append(Command("log", ["log", run], _logged))
    return commands


def start(
    folder: Path, arguments: Sequence[str], *, points: int | None = None, **environment: str
) -> "subprocess.Popen[str]":
    """Start `assay` in `folder`, with everything it keeps below it, in a session of its own.

    It gets the writing end `points` of a pipe, to tell of its points. $TORTURE_FAULT is code run
    before it, to see whether a campaign finds what it spoils.
    """
    code = [os.environ.get("TORTURE_FAULT", ""), CALL]
    if points is not None:
        code.insert(1, WATCH)
        environment[VARIABLE] = str(points)
    process = subprocess.Popen(
        [sys.executable, "-c", "\n".join(code), *arguments],
        start_new_session=True,
        pass_fds=[] if points is None else [points],
        cwd=folder,
        env=_environment(folder) | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    if points is not None:
        os.close(points)  # or its reader would not see that the process ended
    return process


def call(
    folder: Path, *arguments: str, points: int | None = None, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run `assay` to its end. Raises TimeoutExpired, and kills it, after 300 s."""
    process = start(folder, arguments, points=points, **environment)
    try:
        output, errors = process.communicate(timeout=300)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


def _prepare(folder: Path, *arguments: str) -> dict[str, Any]:
    done = call(folder, *arguments, "--json")
    if done.returncode:
        raise RuntimeError(done.stderr)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def _write_rankings(collection: Path, path: Path) -> None:
    """Write rankings that are another system's: every query finds all documents, by name."""
    docs = collection / "docs"
    documents = sorted(file.relative_to(docs).as_posix() for file in docs.rglob("*.md"))
    queries = (collection / "queries.jsonl").read_text().splitlines()
    rows = [{"query_id": json.loads(line)["_id"], "ranking": documents} for line in queries]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


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
    return said["documents"], said["chunks"]


def _baseline(folder: Path, _said: dict[str, Any]) -> Any:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("reports/baselines/*"))]


def _gate(folder: Path, said: dict[str, Any]) -> Any:
    return said["verdict"], (folder / "gate.md").read_text()


def _tuned(folder: Path, _said: dict[str, Any]) -> Any:
    return (folder / "tuned.yaml").read_text()


def _stored(_folder: Path, said: dict[str, Any]) -> Any:
    return said


def _logged(folder: Path, said: dict[str, Any]) -> Any:
    """Return how often the store holds each run whole, whichever call sent it."""
    asked = (
        "SELECT count(*) FROM runs JOIN tags USING (run_uuid) WHERE tags.key = ? AND tags.value = ?"
        " AND status = 'FINISHED' AND lifecycle_stage = 'active'"
    )
    with closing(sqlite3.connect(folder / "mlflow.db")) as store:
        return [store.execute(asked, (RUN, run["run"])).fetchone() for run in said["runs"]]
