"""`assay runs`: the stored runs, all together."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import print_json, print_places, print_text
from assay.eval.cli.report_screen import print_block
from assay.eval.cli.study_command import takes
from assay.eval.report.blocks import Column, Table
from assay.eval.running.study import Argument, Option
from assay.eval.runs.json_form import to_json
from assay.eval.studies.run.run_list import RunFilter, RunRow, list_runs, read_run, sort_by

SHORT = 8  # characters of a commit
SHOWN = ("nDCG@10", "MRR@10", "Recall@10")


class ListOptions(RunFilter):
    """The options of `assay runs list`: the runs to list, and the measures to show."""

    measures: Annotated[tuple[str, ...], Option(("--measure",))] = Field(
        (), description="What to show, and to order by; repeatable."
    )


class DeleteOptions(RunFilter):
    """The options of `assay runs delete`: the runs to delete."""

    runs: Annotated[tuple[str, ...], Argument()] = ()
    dry_run: bool = Field(False, description="Say what would be deleted; delete nothing.")
    yes: bool = Field(False, description="Do not ask.")


@click.group()
def runs() -> None:
    """List, show and delete stored runs."""


@runs.command("list")
@takes(ListOptions)
@options.prints(runs=["eval.studies.run.run_list:RunRow"])
def list_(asked: ListOptions, as_json: bool) -> None:
    """List the runs that fit all options, the newest first.

    With --measure the best in the first comes first. The means are those of each run's last report;
    of a run without one, of its config's measures.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.scoring.measures import check_names

    shown = check_names(asked.measures) if asked.measures else [*SHOWN]
    rows = list_runs(reports_folder(), asked)
    if asked.measures:
        rows = sort_by(rows, shown[0])
    if as_json:
        print_json({"runs": rows})
    elif not rows:
        click.echo(f"no such runs in {reports_folder()}")
    else:
        _print_rows(rows, shown)


def _find_mean(name: str, row: RunRow) -> float | None:
    return row.means.get(name)


def _print_rows(rows: "Sequence[RunRow]", measures: "Sequence[str]") -> None:
    columns = [
        Column("id", "run"),
        Column("collection", "collection"),
        Column("created", "made (UTC)", value=lambda row: row.created[:16].replace("T", " ")),
        Column("commit", "commit", value=lambda row: row.commit[:SHORT]),
        *(Column(name, name, "score", partial(_find_mean, name)) for name in measures),
        Column("p50", "p50 ms", "ms"),
        Column("busy", "", value=lambda row: "busy" * row.busy),
        Column("queries", "n", "count"),
    ]
    print_block(Table("runs", "Stored runs", columns, rows))
    if any(row.busy for row in rows):
        print_text(
            "busy: timed while other processes were working, so that p50 is partly theirs; run "
            "with --rerun on a quiet machine.",
            "yellow",
        )


@runs.command()
@click.argument("run")
@options.prints(
    {"...": "eval.studies.run.run_list:RunRow", "command": str, "pipeline": {str: object}}
)
def show(run: str, as_json: bool) -> None:
    """Show what RUN was, and its means.

    RUN is the id of a run, the beginning of one, or its folder.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.runs.machine_load import describe_disturbance
    from assay.eval.runs.stored import find, load

    folder = find(reports_folder(), run)
    manifest = load(folder).manifest  # raises the error of a run that cannot be read
    row = read_run(folder)
    assert row is not None
    command = " ".join(map(str, manifest.environment.get("command", ())))
    if as_json:
        print_json({**to_json(row), "command": command, "pipeline": manifest.config})
        return
    facts = {
        "run": row.id,
        "config": row.config,
        "collection": f"{row.collection}, {row.queries} queries{' (sampled)' * row.sampled}",
        "made": f"{row.created[:19].replace('T', ' ')} UTC",
        "commit": row.commit,
        "command": command,
        "takes": f"{row.bytes / 1e6:.1f} MB",
        **{f"degraded on {times}": line for line, times in manifest.degraded.items()},
        **{name: f"{mean:.3f}" for name, mean in row.means.items()},
        "p50 ms": "" if row.p50 is None else f"{row.p50:.2f}",
        "timed": describe_disturbance(row.load, "Run with --rerun"),
    }
    for name, text in facts.items():
        if text:
            click.echo(f"{name:<14} {text}")
    print_places(folder=folder, report=row.page)


@runs.command()
@takes(DeleteOptions)
@options.prints(deleted=[str], dry_run=bool)
def delete(asked: DeleteOptions, as_json: bool) -> None:
    """Delete RUNS, or all runs that fit the options.

    With both, those of RUNS that fit. A run is named by its id, the beginning of one, or its
    folder. Baselines and what MLflow has stay. Asks for confirmation, unless --yes; --json needs
    --yes.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.runs.run_folder import remove_run
    from assay.eval.runs.stored import find
    from assay.retrievers.base import AssayError

    runs, dry_run, yes = asked.runs, asked.dry_run, asked.yes
    if not runs and not any(getattr(asked, name) for name in RunFilter.model_fields):
        raise AssayError("assay runs delete: name runs, or say by options which; see --help")
    if as_json and not (yes or dry_run):
        raise AssayError("--json: does not ask for confirmation; give --yes or --dry-run")
    rows = list_runs(reports_folder(), asked)
    if runs:
        named = {find(reports_folder(), run).name for run in runs}
        rows = [row for row in rows if row.id in named]
    if not as_json:
        _print_doomed(rows)
    if rows and not dry_run:
        if not yes:
            click.confirm("Delete them?", abort=True)
        for row in rows:
            remove_run(row.folder)
    if as_json:
        print_json({"deleted": [row.id for row in rows], "dry_run": dry_run})


def _print_doomed(rows: "Sequence[RunRow]") -> None:
    for row in rows:
        click.echo(row.id)
    runs = "run" if len(rows) == 1 else "runs"
    click.echo(f"{len(rows)} {runs}, {sum(row.bytes for row in rows) / 1e6:.1f} MB")
