"""The state of a project, which bare `assay` prints in a folder with a project file."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.eval.cli.output import print_next, print_text

if TYPE_CHECKING:
    from assay.eval.configs.project import Project
    from assay.eval.studies.run.findings import Finding
    from assay.eval.studies.run.run_list import RunRow

LONGEST = 200  # characters of a verdict


def print_standing(project: "Project") -> None:
    """Print the collection, the runs of each pipeline, the last verdicts, and the next step.

    Raises AssayError if the project file names a pipeline that does not exist.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.report.formats import shorten
    from assay.eval.studies.run.findings import KINDS, list_findings
    from assay.eval.studies.run.run_list import list_runs

    reports = reports_folder()
    rows = list_runs(reports, scored=False) if reports.is_dir() else []
    findings = list_findings(reports) if reports.is_dir() else []
    print_text(f"{project.source}: {project.collection or 'no collection named'}")
    if project.held_out:
        print_text(f"held out  {project.held_out}: {_count_looks(project.held_out)}")
    newest: dict[str, RunRow | None] = {}
    for name, label in _list_labels(project):
        made = [row for row in rows if row.config == label]
        newest[name] = made[0] if made else None
        print_text(f"pipeline  {name}: {_describe(made)}")
    for kind, word in (("comparison", "compared"), ("chosen", "chosen"), ("gate", "gate")):
        last = next((item for item in findings if item.kind == KINDS[kind]), None)
        if last:
            day = last.made.replace("T", " ")
            print_text(f"{word:<10}{shorten(last.verdict, LONGEST)} ({day} UTC)")
    print_next(*_list_next(newest, findings, reports))
    click.echo("`assay ui` opens all reports; `assay --help` lists the commands")


def _count_looks(held_out: str) -> str:
    """Return the number of looks that the ledger leaves at a collection, in words."""
    from assay.eval.report.formats import count
    from assay.eval.statistics.looks import LOOKS
    from assay.eval.studies.comparison.held_out.ledger import FILE, read_looks

    looks = [item for item in read_looks(Path(FILE)) if item.held_out == Path(held_out).name]
    return f"{count(looks[-1].left if looks else LOOKS, 'look')} left of {LOOKS}"


def _list_labels(project: "Project") -> Iterator[tuple[str, str]]:
    """Yield the pipelines as the file names them, each with the name that its runs have."""
    from assay.eval.configs.config import load_config

    for name in project.list_pipelines():
        yield name, load_config(name).name


def _describe(rows: list["RunRow"]) -> str:
    from assay.eval.report.formats import count
    from assay.eval.scoring.measures import choose_headline

    if not rows:
        return "not run"
    last = rows[0]
    headline = choose_headline(last.means) if last.means else ""
    figures = [f"{headline} {last.means[headline]:.3f}"] if headline else []
    day = last.created[:16].replace("T", " ")
    return ", ".join([count(len(rows), "run"), f"the last on {day} UTC", *figures])


def _list_next(
    newest: dict[str, "RunRow | None"],
    findings: list["Finding"],
    reports: Path,
) -> Iterator[str]:
    """Yield the first missing call: a run, a comparison, a baseline; else the gate."""
    from assay.eval.studies.run.findings import KINDS

    missing = [name for name, row in newest.items() if row is None]
    kinds = {item.kind for item in findings}
    if missing:
        yield "run" if len(missing) == len(newest) else f"run {shlex.quote(missing[0])}"
    elif KINDS["comparison"] not in kinds:
        yield "compare"
    elif not any((reports / "baselines").glob("*.json")):
        row = next(row for row in newest.values() if row)
        yield f"baseline accept {row.id}"
    else:
        yield "gate"
    if KINDS["chosen"] not in kinds and not missing:
        yield "choose"
