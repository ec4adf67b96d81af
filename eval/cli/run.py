"""`assay run`: one pipeline on one collection."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from eval.analysis.summary import Summary
    from eval.experiments.config import RunConfig
    from eval.runs.execution import Plan
    from retrievers.base import Progress


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("overrides", nargs=-1, metavar="[KEY.PATH=VALUE]...")
@click.option("--engine", metavar="NAME", help="Search in this engine, with its defaults.")
@click.option("--again", is_flag=True, help="Measure again though an equal run is stored.")
@click.option("--no-track", is_flag=True, help="Do not log to MLflow.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def run(
    config: Path,
    overrides: tuple[str, ...],
    engine: str | None,
    again: bool,
    no_track: bool,
    as_json: bool,
) -> None:
    """Run the pipeline CONFIG on its collection: measures, latency, report, MLflow.

    A run is a function of config, collection, models and code: where an equal one is stored it is
    shown again, and one that was cut off is resumed. Overrides change single keys, as in
    retriever.fusion.k=10 dataset=scifact.

    With --engine a leg of type native_hybrid searches in that engine; where there is none, a dense
    leg does, and is fused here with the others. `assay engines list` has the names.
    """
    from eval import report
    from eval.analysis.exports import export
    from eval.analysis.summary import summarise
    from eval.cli.console import ConsoleProgress, print_json
    from eval.cli.table import print_summary
    from eval.experiments.config import load_config

    progress = ConsoleProgress()
    settings = load_config(config, overrides, engine)
    outcome = make_run(settings, again, progress)
    summary = summarise(outcome.run, settings.measures)
    export(summary)
    page = report.write(summary)
    tracked = None if no_track else track(summary, progress)
    if as_json:
        print_json({**summary.as_json(), "report": str(page), "mlflow_run": tracked})
        return
    print_summary(summary, page, tracked, reused=outcome.reused)


def make_run(settings: "RunConfig", again: bool, progress: "Progress") -> Any:
    """Build the pipeline of `settings` and run it on its collection."""
    from eval.collections.loading import load
    from eval.experiments.locations import reports_folder, threads
    from eval.runs.execution import execute
    from retrievers.settings import Workshop
    from retrievers.store.cache import Cache, default_root

    collection = load(settings.dataset)
    plan = make_plan(settings, again)
    workshop = Workshop(Cache(default_root()), progress, threads())
    with settings.build(workshop) as retriever:
        return execute(plan, retriever, collection, reports_folder(), progress)


def make_plan(settings: "RunConfig", again: bool = False) -> "Plan":
    """Return what is to be run by `settings`."""
    from eval.runs.execution import Plan

    return Plan(
        name=settings.name,
        config=settings.model_dump(mode="json"),
        depth=settings.depth,
        limit=settings.limit,
        latency=settings.latency,
        again=again,
    )


def track(summary: "Summary", progress: "Progress") -> str | None:
    """Log to MLflow and return the id of the MLflow run; say so where tracking is down."""
    from eval import tracking

    try:
        return tracking.log_once(summary)
    except tracking.TrackingError as error:
        progress.say(
            f"assay: {error}; the run is kept in {summary.run.folder}: "
            f"send it later with `assay log {summary.run.manifest.id}`"
        )
        return None
