"""`assay run`: one pipeline on one collection."""

import shlex
from pathlib import Path

import click

from assay.eval.cli import options
from assay.eval.cli.output import present, print_next


@click.command()
@options.CONFIG
@options.OVERRIDES
@options.dataset("overrides")
@options.engine("config")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Ask no service: say what the run should be billed, and make none.",
)
@options.rerun("Measure again though an equal run is stored.")
@click.option(
    "--by-type", is_flag=True, help="Show types of query too, and the latency of each step."
)
@options.ray
@options.NO_TRACK
@options.JSON
def run(
    config: Path,
    overrides: tuple[str, ...],
    dry_run: bool,
    rerun: bool,
    by_type: bool,
    ray: str | None,
    ray_gpus: float,
    no_track: bool,
    as_json: bool,
) -> None:
    """Run the pipeline CONFIG on its collection: measures, latency, report, MLflow.

    A run is a function of config, collection, models and code: an equal stored run is shown again,
    and an interrupted one is resumed. Overrides change single keys, as in retriever.fusion.k=10
    dataset=scifact.

    With --engine NAME, or as CONFIG@NAME in any command, a leg of type native_hybrid searches in
    that engine, with its defaults; where there is none, a dense leg does, and is fused here with
    the others. `assay engines list` has the names.
    """
    from functools import partial

    from assay.eval.cli.table import print_summary
    from assay.eval.cluster.distribution import distribute
    from assay.eval.configs.config import load_config
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.run import make_run, track, write_report

    progress = ConsoleProgress()
    settings = load_config(config, overrides)
    if dry_run:
        from assay.eval.cli.table import print_dry_run
        from assay.eval.studies.ingestion.dry_run import estimate_run

        present(estimate_run(settings, progress), as_json, print_dry_run)
        return
    with distribute(ray, progress, ray_gpus) as pool:
        outcome = (
            make_run(settings, rerun, progress, pool.resources, pool.search)
            if pool
            else make_run(settings, rerun, progress)
        )
    summary, page = write_report(outcome.run, settings.measures)
    show = partial(print_summary, reused=outcome.reused, by_type=by_type)

    def log() -> str | None:
        return None if no_track else track(summary, progress)

    present(summary, as_json, show, log, report=page)
    if not as_json:
        pair = ["bm25", str(config)] if settings.name != "bm25" else [str(config), "hybrid"]
        given = [item for item in overrides if not item.startswith("dataset=")]
        compare = shlex.join(["compare", *pair, *given, "--dataset", settings.dataset])
        print_next(compare, f"explain {summary.run.manifest.id}")
