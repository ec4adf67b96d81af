"""`assay ablate`: what each part of a pipeline adds, and what it costs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import present, print_json, track_runs
from assay.eval.cli.report_screen import print_report

if TYPE_CHECKING:
    from assay.eval.studies.ablation.running import AblationPlan


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
@options.FULL
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
    from assay.eval.report.files import write_blocks
    from assay.eval.scoring.measures import split_names
    from assay.eval.studies.ablation.analysis import MEASURES
    from assay.eval.studies.ablation.report import report
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
    told = report(found)
    page = write_blocks(found, told, reports_folder() / found.id)
    tracked = track_runs(no_track, records, page.parent, resources.progress)
    present(found, as_json, lambda _: print_report(told), report=page, mlflow_parent=tracked)
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
