"""`assay tune`: the best settings of a space, and what they are worth on unseen queries."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eval.cli import options
from eval.cli.output import print_json

if TYPE_CHECKING:
    from eval.analysis.nested_cv import Tuning
    from eval.analysis.search_space import Point
    from eval.collections.collection import Collection, Query
    from eval.experiments.config import RunConfig
    from eval.experiments.search_spaces import Space
    from retrievers.base import Progress

TUNED = ("retriever.", "documents.")
MOST_POINTS = 500


@click.command()
@options.CONFIG
@options.OVERRIDES
@click.option("--space", type=click.Path(path_type=Path), help="A YAML file of values to try.")
@click.option("--over", multiple=True, metavar="KEY=V1,V2", help="Values to try; repeatable.")
@click.option("--trials", type=click.IntRange(1), help="Try so many points, drawn at random.")
@click.option("--measure", default="nDCG@10", show_default=True, help="What is to rise.")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True)
@click.option("--repeats", type=click.IntRange(1), default=20, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--group-by",
    type=click.Choice(["text", "document"]),
    default="text",
    show_default=True,
    help="Queries that no fold may part: those of the same words, or also of the same documents.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="The config to write.  [default: tuned/<name>.yaml below the reports]",
)
@options.NO_TRACK
@options.JSON
def tune(
    config: Path,
    overrides: tuple[str, ...],
    space: Path | None,
    over: tuple[str, ...],
    trials: int | None,
    output: Path | None,
    no_track: bool,
    as_json: bool,
    **design: Any,
) -> None:
    """Find the best settings for CONFIG on its collection, and what they gain on unseen queries.

    Tries every point of the space, or --trials of them. Without --space and --over the space fits
    the config: constant or normalisation and weights of its fusion; k1 and b of a single BM25 leg;
    depth of its reranking. More than 500 points are sampled unless --trials says more.

    The gain is held out: in each fold the point that is best on the other folds is scored on the
    queries left out. Folds are alike in query types. Settings are worth taking only where the
    interval of that gain lies above 0 and p is at most .05. The best config is written in any case.
    """
    from eval.analysis.search_space import draw
    from eval.cli.tuning_table import describe_gain, print_tuning
    from eval.collections.loading import load
    from eval.experiments.config import load_config
    from eval.experiments.locations import reports_folder
    from eval.experiments.search_spaces import resolve_points
    from eval.experiments.tuned_config import write_tuned
    from eval.progress import ConsoleProgress
    from eval.runs.execution import sample
    from eval.scoring.measures import check_names

    measure = design.pop("measure")
    check_names([measure])
    settings = load_config(config, overrides)
    searched = _choose_space(settings, space, over)
    points = draw(searched.points, trials or MOST_POINTS, design["seed"])
    variants = resolve_points(config, overrides, points, settings)
    collection = load(settings.dataset)
    queries = sample(collection.queries, settings.limit)
    scores = _score_all([settings, *variants], collection, queries, measure, ConsoleProgress())
    tuning = _tune(measure, scores, points, queries, collection, design)

    path = output or reports_folder() / "tuned" / f"{settings.name}.yaml"
    best = settings if tuning.best is None else variants[tuning.best]
    said = f"{describe_gain(tuning)}, on {settings.dataset}, by: {_command()}"
    named = {"name": f"{settings.name}_tuned", "description": said}
    write_tuned(path, config, best.model_copy(update=named))
    result = {"config": settings.name, "collection": settings.dataset, **tuning.as_json()}
    files = [path, _write_json(path.with_suffix(".json"), result)]
    tracked = None if no_track else _track(tuning, settings, files)
    if as_json:
        print_json({**result, "output": str(path), "mlflow_run": tracked})
        return
    print_tuning(tuning, settings, searched)
    click.echo(f"config  {path}")
    if tracked:
        click.echo(f"MLflow  run {tracked}")


def _choose_space(settings: "RunConfig", path: Path | None, over: Sequence[str]) -> "Space":
    from eval.experiments.search_spaces import derive_space, parse_space, read_space
    from retrievers.base import AssayError

    if path and over:
        raise AssayError("--space and --over: give one of them")
    space = read_space(path) if path else parse_space(over) if over else derive_space(settings)
    for key in (key for grid in space.grids for key in grid):
        if not key.startswith(TUNED):
            raise AssayError(f"{key}: cannot be tuned; allowed: keys of retriever and documents")
    return space


def _score_all(
    settings: "Sequence[RunConfig]",
    collection: "Collection",
    queries: "Sequence[Query]",
    measure: str,
    progress: "Progress",
) -> list[dict[str, float]]:
    """Return the scores per query of each config, on shared chunks and indexes."""
    from eval.experiments.workshop import make_workshop
    from eval.runs.unstored import score_queries
    from retrievers.variants import Variants

    scores = []
    with Variants(make_workshop()) as variants:
        for config in progress.track(settings, "points", len(settings)):
            with variants.build(config) as retriever:
                retriever.index(collection.documents)
                found = score_queries(retriever, collection, queries, measure, config.depth)
            scores.append(dict(found))
    return scores


def _tune(
    measure: str,
    scores: Sequence[dict[str, float]],
    points: "Sequence[Point]",
    queries: "Sequence[Query]",
    collection: "Collection",
    design: dict[str, Any],
) -> "Tuning":
    from eval.analysis.nested_cv import Design, Queries, tune
    from eval.analysis.query_groups import group

    groups = group(queries, collection, design.pop("group_by"))
    ids, types = [query.id for query in queries], [query.type for query in queries]
    tried = list(zip(points, scores[1:], strict=True))
    return tune(measure, scores[0], tried, Queries(ids, types, groups), Design(**design))


def _write_json(path: Path, value: dict[str, Any]) -> Path:
    import json

    from eval.runs.stored import write_atomically

    write_atomically(path, f"{json.dumps(value, ensure_ascii=False, indent=1)}\n".encode())
    return path


def _command() -> str:
    return shlex.join(["assay", *sys.argv[1:]])


def _track(tuning: "Tuning", settings: "RunConfig", files: Sequence[Path]) -> str | None:
    from eval.tracking import TrackingError
    from eval.tracking.tuning import TuningRecord, log_tuning

    try:
        return log_tuning(TuningRecord(tuning, settings.model_dump(mode="json"), _command(), files))
    except TrackingError as error:
        click.echo(f"assay: {error}; the figures are kept in {files[-1]}", err=True)
        return None
