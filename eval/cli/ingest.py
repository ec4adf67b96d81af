"""`assay ingest`: what a pipeline makes of documents before the first query."""

from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import (
    make_console,
    make_table,
    print_json,
    print_places,
    print_table,
    track,
)

if TYPE_CHECKING:
    from assay.eval.studies.ingestion.baseline import IngestionChecks
    from assay.eval.studies.ingestion.summary import Ingestion

NAMED = 5  # documents that are named of each sort


@click.command()
@click.argument("documents")
@options.OVERRIDES
@click.option(
    "--config",
    default="hybrid_rrf",
    show_default=True,
    help="The pipeline that takes the documents in.",
)
@click.option(
    "--baseline",
    type=click.Path(exists=True),
    metavar="FILE",
    help="Hold it against this ingestion.json; exit with 1 where it is worse.",
)
@options.rerun("Do all of it again; times are measured on this.")
@options.NO_TRACK
@options.JSON
def ingest(
    documents: str,
    overrides: tuple[str, ...],
    config: str,
    baseline: str | None,
    rerun: bool,
    no_track: bool,
    as_json: bool,
) -> None:
    """Convert, chunk, embed and index DOCUMENTS: a folder of files, one file, or a collection.

    Reports sizes, checks and times, and what could not be read. Only files whose content changed
    since the last time are processed again. Overrides change single keys of the config.

    With --baseline it is worse where more documents cannot be rebuilt, more files are skipped, more
    chunks are oversize or beyond the encoder's limit, or a document gives no chunk any more.
    """
    import sys
    from dataclasses import asdict
    from functools import partial
    from pathlib import Path

    from assay.eval.configs.config import load_config
    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.studies.ingestion import page as report
    from assay.eval.studies.ingestion.baseline import check, log_ingestion
    from assay.eval.studies.ingestion.running import run_ingestion

    resources = make_resources()
    made = run_ingestion(documents, load_config(config, overrides), resources, rerun)
    against = check(made, Path(baseline)) if baseline else None
    folder = reports_folder() / made.id
    page = report.write(made, folder)
    log, kept = partial(log_ingestion, made, folder), f"the report is kept in {folder}"
    tracked = track(no_track, log, kept, resources.progress)
    if as_json:
        skipped = [asdict(item) for item in made.skipped]
        places = {"report": str(page), "mlflow_run": tracked}
        named = {"ingestion": made.id, "source": made.source, "pipeline": made.pipeline}
        lists = {"skipped_files": skipped, "notes": made.notes}
        held = {"against": asdict(against) | {"fails": against.fails}} if against else {}
        print_json({**named, **made.figures(), **lists, **held, **places})
    else:
        _print(made)
        if against:
            _print_checks(against)
        print_places(report=page, mlflow_run=tracked)
    if against and against.fails:
        sys.exit(1)


def _print(made: "Ingestion") -> None:
    from assay.eval.cli.skipped_files import describe_skipped
    from assay.eval.report.histogram import bin_rows, draw_bars
    from assay.eval.studies.ingestion import page as report

    console = make_console()
    for line in describe_skipped(made.skipped):
        console.print(line, markup=False)
    console.print(f"{made.source} by {made.pipeline}", style="bold", markup=False)
    console.print(" · ".join(report.key_facts(made)), markup=False)
    for line in draw_bars(bin_rows(made.tokens.histogram())):
        console.print(line, markup=False)
    said = (report.tokens, report.ranges, report.checks, report.structure, report.times)
    for name, text in (pair for say in said for pair in say(made)):
        console.print(f"{name:<28} {text}", markup=False)
    for line in report.warnings(made):
        console.print(line, style="bold red", markup=False)


def _print_checks(found: "IngestionChecks") -> None:
    console = make_console()
    console.print(f"\nagainst {found.base}", markup=False)
    table = make_table("", "baseline", "now", "verdict", left=("verdict",), ruled=False)
    for item in found.checks:
        shown = ("–" if value is None else f"{value:,.5g}" for value in (item.base, item.head))
        style = {"regression": "bold red", "changed": "yellow"}.get(item.verdict, "")
        verdict = f"[{style}]{item.verdict}[/]" if style else item.verdict
        table.add_row(item.name, *shown, "" if item.verdict == "shown" else verdict)
    print_table(console, table)
    for told, names in (
        ("not taken in any more", found.gone),
        ("without a chunk now", found.empty),
        ("of as many words, cut otherwise", found.recut),
    ):
        if names:
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            console.print(f"{told}: {', '.join(names[:NAMED])}{more}", markup=False)
    console.print(
        "regression: look at what changed before you ingest the rest"
        if found.fails
        else "pass: nothing is worse that must not be"
    )
