"""`assay recall`: what approximate search misses, and what it saves."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from eval.parity.curve import Curve
    from retrievers.base import Progress

WIDTH = 150  # columns that the table needs


@click.command()
@click.argument("engine")
@click.argument("words", nargs=-1, metavar="[COLLECTION] [KEY=VALUE]...")
@click.option("--sweep", required=True, metavar="KEY=V1,V2,…", help="The setting and its values.")
@click.option("--limit", type=click.IntRange(1), help="Ask only so many queries: a quick look.")
@click.option("--no-track", is_flag=True, help="Do not log to MLflow.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def recall(
    engine: str,
    words: tuple[str, ...],
    sweep: str,
    limit: int | None,
    no_track: bool,
    as_json: bool,
) -> None:
    """Measure ENGINE's approximate dense search against exact search, by one setting.

    KEY is a setting of the engine's approximate index, as in --sweep ef=8,16,32,64,128, or
    index.nprobes=1,5,20; KEY=VALUE changes others, such as which index it is. For each value:
    recall@10 and recall@100 on the collection's own queries, nDCG@10 of the dense list, p50 and
    p95, with those of exact search beside them.
    """
    from eval.analysis.search_space import parse_axis
    from eval.cli.console import print_json
    from eval.collections.catalog import find
    from eval.experiments.ann_sweep import list_variants, run_sweep
    from eval.experiments.engine_bench import open_bench
    from eval.experiments.engine_settings import read_engine
    from eval.experiments.locations import default_dataset, reports_folder
    from eval.experiments.workshop import make_workshop
    from eval.report import recall as report
    from retrievers.base import AssayError

    names = [word for word in words if "=" not in word]
    if len(names) > 1:
        raise AssayError(f"{names[1]}: one COLLECTION at a time")
    collection = names[0] if names else default_dataset()
    find(collection)
    configured = read_engine(engine, [word for word in words if "=" in word])
    key, values = parse_axis(sweep)
    variants = list_variants(configured, key, values)
    workshop = make_workshop()
    bench = open_bench(collection, limit, workshop)
    command = configured.command("recall", collection, "--sweep", sweep, *bench.options)
    curve = run_sweep(bench, key, variants, command, workshop)
    page = report.write(curve, reports_folder())
    tracked = None if no_track else _track(curve, page.parent, workshop.progress)
    if as_json:
        print_json({**curve.as_json(), "report": str(page), "mlflow_run": tracked})
        return
    _print(curve)
    click.echo(f"report  {page}")
    if tracked:
        click.echo(f"MLflow  run {tracked}; `make mlflow` opens the UI")


def _track(curve: "Curve", folder: Path, progress: "Progress") -> str | None:
    from eval.tracking import TrackingError
    from eval.tracking.parity import log_curve

    try:
        return log_curve(curve, folder)
    except TrackingError as error:
        progress.say(f"assay: {error}; the report in {folder} is kept")
        return None


def _print(curve: "Curve") -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from eval.report.recall import list_headings, point_row

    console = Console(highlight=False)
    console.width = max(console.width, WIDTH)
    sample = ", a sample" if curve.sampled else ""
    table = Table(
        title=f"{curve.engine} on {curve.collection} (n = {curve.queries}{sample})",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("dense search", no_wrap=True)
    headings = list_headings(curve)
    for heading in (*headings, "index s"):
        table.add_column(heading, justify="right")
    for number, point in enumerate(curve.points, start=1):
        row = point_row(number, point)
        cells = (
            item.value if " ms" in name else f"{item.value} ({item.interval})"
            for name, item in zip(headings, row.figures, strict=True)
        )
        table.add_row(escape(row.label), *cells, row.index[0])
    console.print(table)
