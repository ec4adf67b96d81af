"""`assay ablate`: what each part of a pipeline adds, and what it costs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import (
    make_console,
    make_table,
    present,
    print_json,
    print_table,
    track_runs,
)

if TYPE_CHECKING:
    from rich.console import Console

    from assay.eval.studies.ablation.analysis import Ablation, Row
    from assay.eval.studies.ablation.running import AblationPlan
    from assay.eval.studies.comparison.differences import Difference

STYLES = {"better": "green", "worse": "red"}


@click.command()
@options.CONFIG
@options.OVERRIDES
@options.dataset("overrides")
@options.engine("config")
@options.MEASURES
@click.option(
    "--timed",
    type=options.at_least(0),
    default=5,
    show_default=True,
    help="Queries on which all variants are timed interleaved.",
)
@click.option("--dry-run", is_flag=True, help="List the variants and run nothing.")
@options.ray
@options.NO_TRACK
@options.JSON
def ablate(
    config: Path,
    overrides: tuple[str, ...],
    measures: str | None,
    timed: int,
    dry_run: bool,
    ray: str | None,
    ray_gpus: float,
    no_track: bool,
    as_json: bool,
) -> None:
    """Measure what each query step, leg and stage of CONFIG adds and costs.

    Runs the pipeline, the pipeline without each part, and a plain hybrid (its dense and its BM25
    leg, fused by RRF) with each part alone. A part comes with the parts it needs, and goes with the
    parts that need it; each row says so. Differences are paired by query. Each variant is a stored
    run: after a kill the same call goes on, and one that was made before is not made again.

    Exit code: 0 all variants ran, 1 some failed, 2 the pipeline cannot be run.
    """
    from assay.eval.cluster.distribution import distribute
    from assay.eval.configs.config import load_config
    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.scoring.measures import split_names
    from assay.eval.studies.ablation import page as report
    from assay.eval.studies.ablation.analysis import MEASURES
    from assay.eval.studies.ablation.running import ablate as run_all
    from assay.eval.studies.ablation.running import make_plan

    wanted = split_names(measures) if measures else MEASURES
    plan = make_plan(load_config(config, overrides), wanted, timed)
    if dry_run:
        _list(plan, as_json)
        return
    resources = make_resources()
    with distribute(ray, resources.progress, ray_gpus) as pool:
        used = pool.resources if pool else resources
        found, records = run_all(plan, used, reports_folder(), pool)
    page = report.write(found, reports_folder() / found.id)
    tracked = track_runs(no_track, records, page.parent, resources.progress)
    present(found, as_json, _print, report=page, mlflow_parent=tracked)
    if found.failed:
        sys.exit(1)


def _list(plan: "AblationPlan", as_json: bool) -> None:
    from assay.eval.studies.ablation.weighing import describe

    tables = {"removals": plan.removals, "additions": plan.additions}
    if as_json:
        keys = ("part", "kind", "along", "replaces", "refusal")
        rows = {name: map(describe, items) for name, items in tables.items()}
        print_json(
            {
                name: [{key: getattr(row, key) for key in keys} for row in items]
                for name, items in rows.items()
            }
        )
        return
    for name, items in tables.items():
        click.echo(name)
        for row in map(describe, items):
            click.echo(f"  {row.label}{': ' if row.refusal else ''}{row.refusal}")


def _print(found: "Ablation") -> None:
    """Print what the parts come to, then both tables."""
    console = make_console()
    title = f"{found.name} on {found.collection} (n = {found.queries})"
    console.print(title, style="bold", markup=False)
    for line in found.conclusions:
        console.print(line, markup=False)
    _print_rows(console, found, found.removals, "The whole pipeline, less that without the part:")
    if found.additions:
        legs = ", ".join(found.plain_legs)
        title = f"The plain pipeline ({legs}) with the part, less that without it:"
        _print_rows(console, found, found.additions, title)
    console.print(
        "Intervals hold for both tables at once. p95: of the part itself. The report has other "
        "measures, tokens, and the time of whole searches."
    )
    for line in found.warnings:
        console.print(line, style="bold red", markup=False)


def _print_rows(console: "Console", found: "Ablation", rows: "Sequence[Row]", title: str) -> None:
    from rich.markup import escape

    from assay.eval.report.formats import p_value
    from assay.eval.studies.ablation.analysis import milliseconds

    console.print(f"\n{title}", markup=False)
    figures = (found.measures[0], "95 % interval", "p", "p95 ms")
    table = make_table("part", *figures, ruled=False, whole=True)
    for row in rows:
        if row.differences:
            item = row.differences[0]
            between = f"{item.interval.low:+.3f} … {item.interval.high:+.3f}"
            own = milliseconds(row.own.p95) if row.own else "–"
            table.add_row(escape(row.label), _value(item), between, p_value(item.adjusted), own)
    print_table(console, table)
    for row in rows:
        if row.finding:
            console.print(f"  {row.label}: {row.finding}", markup=False)
    console.print()


def _value(item: "Difference") -> str:
    text = f"{item.difference.value:+.3f}"
    style = STYLES.get(item.verdict)
    return f"[{style}]{text}[/]" if style else text
