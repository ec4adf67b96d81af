"""`assay runs`: the stored runs, all together."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from assay.eval.cli import options
from assay.eval.cli.output import make_console, make_table, print_json, print_places, print_table

if TYPE_CHECKING:
    from assay.eval.studies.run.run_list import RunFilter, RunRow

SHORT = 8  # characters of a commit
WANTED = (
    click.option("--config", default="", help="Runs of this config, by its name."),
    click.option(
        "--dataset", "--collection", "collection", default="", help="Runs on this collection."
    ),
    click.option("--since", default="", metavar="DATE", help="Made on this day (UTC) or later."),
    click.option("--until", default="", metavar="DATE", help="Made on this day (UTC) or earlier."),
    click.option("--min", "least", multiple=True, metavar="MEASURE=VALUE", help="Repeatable."),
)


def filtered(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say which runs are meant."""
    for option in reversed(WANTED):
        command = option(command)
    return command


@click.group()
def runs() -> None:
    """List, show and delete stored runs."""


@runs.command("list")
@filtered
@click.option(
    "--measure", "measures", multiple=True, help="What to show, and to order by; repeatable."
)
@options.JSON
def list_(measures: tuple[str, ...], as_json: bool, **wanted: Any) -> None:
    """List the runs that fit all options, the newest first.

    With --measure the best in the first comes first. The means are those of each run's last report;
    of a run without one, of its config's measures.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.scoring.measures import check_names
    from assay.eval.studies.run.run_list import list_runs, sort_by

    shown = check_names(measures) if measures else ["nDCG@10", "MRR@10", "Recall@10"]
    rows = list_runs(reports_folder(), _read_wanted(wanted))
    if measures:
        rows = sort_by(rows, shown[0])
    if as_json:
        print_json({"runs": [row.as_json() for row in rows]})
        return
    if not rows:
        click.echo(f"no such runs in {reports_folder()}")
        return
    headings = (*shown, "p50 ms", "n")
    left = ("collection", "made (UTC)", "commit")
    table = make_table("run", *left, *headings, left=left, whole=True)
    for row in rows:
        scores = (f"{row.means[name]:.3f}" if name in row.means else "–" for name in shown)
        p50 = "–" if row.p50 is None else f"{row.p50:.2f}{' busy' * row.busy}"
        made = row.created[:16].replace("T", " ")
        table.add_row(
            row.id, row.collection, made, row.commit[:SHORT] or "–", *scores, p50, str(row.queries)
        )
    console = make_console()
    print_table(console, table)
    if any(row.busy for row in rows):
        console.print(
            "busy: timed while other processes were working, so that p50 is partly theirs; run "
            "with --rerun on a quiet machine.",
            style="yellow",
        )


@runs.command()
@click.argument("run")
@options.JSON
def show(run: str, as_json: bool) -> None:
    """Show what RUN was, and its means.

    RUN is the id of a run, the beginning of one, or its folder.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.running.run_references import find_stored
    from assay.eval.runs.machine_load import describe_disturbance
    from assay.eval.runs.stored import load
    from assay.eval.studies.run.run_list import read_run

    folder = find_stored(reports_folder(), run)
    manifest = load(folder).manifest  # says what is wrong with a run that cannot be read
    row = read_run(folder)
    assert row is not None
    command = " ".join(map(str, manifest.environment.get("command", ())))
    if as_json:
        print_json({**row.as_json(), "command": command, "pipeline": manifest.config})
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
@click.argument("runs", nargs=-1)
@filtered
@click.option("--dry-run", is_flag=True, help="Say what would be deleted; delete nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.JSON
def delete(runs: tuple[str, ...], dry_run: bool, yes: bool, as_json: bool, **wanted: Any) -> None:
    """Delete RUNS, or all runs that fit the options.

    With both, those of RUNS that fit. A run is named by its id, the beginning of one, or its
    folder. Baselines and what MLflow has stay. Asks for confirmation, unless --yes; --json needs
    --yes.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.running.run_references import find_stored
    from assay.eval.runs.run_folder import remove_run
    from assay.eval.studies.run.run_list import list_runs
    from assay.retrievers.base import AssayError

    if not runs and not any(wanted.values()):
        raise AssayError("assay runs delete: name runs, or say by options which; see --help")
    if as_json and not (yes or dry_run):
        raise AssayError("--json: does not ask for confirmation; give --yes or --dry-run")
    rows = list_runs(reports_folder(), _read_wanted(wanted))
    if runs:
        named = {find_stored(reports_folder(), run).name for run in runs}
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


def _read_wanted(given: dict[str, Any]) -> "RunFilter":
    """Return which runs options mean. Raises AssayError."""
    from datetime import datetime

    from assay.eval.scoring.measures import find
    from assay.eval.studies.run.run_list import RunFilter
    from assay.retrievers.base import AssayError

    least = {}
    for text in given["least"]:
        name, _, value = text.partition("=")
        try:
            least[find(name).name] = float(value)
        except ValueError:
            raise AssayError(f"--min {text}: must be MEASURE=VALUE, as in nDCG@10=0.4") from None
    for key in ("since", "until"):
        try:
            day = given[key] or "2000-01-01"
            if not datetime.fromisoformat(day).isoformat().startswith(day):
                raise ValueError(day)
        except ValueError:
            raise AssayError(
                f"--{key} {given[key]}: must be a date, as in 2026-01-31, or 2026-01-31T12:00"
            ) from None
    return RunFilter(given["config"], given["collection"], given["since"], given["until"], least)
