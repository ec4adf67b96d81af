"""`assay tune`: the best settings of a space, and what they are worth on unseen queries."""

from pathlib import Path

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_json, print_places
from assay.eval.cli.report_screen import print_report


@click.command()
@options.CONFIG
@options.OVERRIDES
@options.dataset("overrides")
@options.engine("config")
@click.option("--space", type=click.Path(path_type=Path), help="A YAML file of values to try.")
@click.option("--over", multiple=True, metavar="KEY=V1,V2", help="Values to try; repeatable.")
@click.option("--trials", type=options.at_least(1), help="Try so many points, drawn at random.")
@click.option("--measure", default="nDCG@10", show_default=True, help="What is to rise.")
@click.option("--folds", type=options.at_least(2), default=5, show_default=True)
@click.option("--repeats", type=options.at_least(1), default=20, show_default=True)
@click.option("--seed", type=options.at_least(0), default=0, show_default=True)
@click.option(
    "--group-by",
    type=click.Choice(["text", "document"]),
    help="Queries that no fold may part: those of the same words, or also of the same documents.  "
    "[default: document where the verdict is for other documents]",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="The config to write.  [default: tuned/NAME-COLLECTION-SPACE.yaml below the reports]",
)
@click.option("--force", is_flag=True, help="Replace another result, or file, that is there.")
@options.ray
@options.NO_TRACK
@options.FULL
@options.JSON
def tune(
    config: Path,
    overrides: tuple[str, ...],
    space: Path | None,
    over: tuple[str, ...],
    trials: int | None,
    measure: str,
    group_by: str | None,
    output: Path | None,
    force: bool,
    ray: str | None,
    ray_gpus: float,
    no_track: bool,
    as_json: bool,
    **design: int,
) -> None:
    """Tune the settings of CONFIG on its collection; report the cross-validated gain.

    Tries every point of the space, or --trials of them. Without --space and --over the space fits
    the config: constant or normalisation and weights of its fusion; k1, b and variant of a single
    BM25 leg; depth of its reranking; without stages also contexts and chunks of 400 tokens, each
    under every fusion. More than 500 points are sampled unless --trials says more.

    The gain is cross-validated (held out): in each fold the point that is best on the other folds
    is scored on the queries left out. Folds are alike in query types. Take the settings only where
    six queries or more gain or lose, and p is at most .05: the chance of such a gain if no point
    were better.

    The best config is written in any case. Where that of another question is, or one that was
    changed since, it is kept, and this one gets a number; with --output it is refused without
    --force.
    """
    from assay.eval.cluster.distribution import distribute
    from assay.eval.configs.locations import reports_folder
    from assay.eval.progress import ConsoleProgress
    from assay.eval.studies.tuning.nested_cv import Design
    from assay.eval.studies.tuning.running import TuningRequest, run_tuning

    progress = ConsoleProgress()
    parted = Design(**design)
    request = TuningRequest(
        config, overrides, space, over, trials, measure, group_by, parted, output, force
    )
    with distribute(ray, progress, ray_gpus) as pool:
        tuned = run_tuning(request, progress, pool.score if pool else None)
    path = output or reports_folder() / "tuned" / f"{tuned.id}.yaml"
    files, word = tuned.write(path, named=output is not None, force=force)
    path, page = files[0], files[-2]
    if word:
        progress.say(word)
    tracked = None if no_track else tuned.track(files, progress)
    if as_json:
        print_json(
            {**tuned.as_json(), "output": str(path), "report": str(page), "mlflow_run": tracked}
        )
        return
    print_report(tuned.report)
    print_places(config=path, report=page, mlflow_run=tracked)
