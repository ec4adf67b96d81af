"""`assay parity`: what an engine's hybrid search really is, and what it is worth."""

from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import make_console, make_table, present, print_table, track

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from assay.eval.studies.stores.parity.results import Parity


@click.command()
@click.argument("engine")
@click.argument("words", nargs=-1, metavar="[COLLECTION] [KEY=VALUE]...")
@options.LIMIT
@options.NO_TRACK
@options.JSON
def parity(
    engine: str, words: tuple[str, ...], limit: int | None, no_track: bool, as_json: bool
) -> None:
    """Compare an engine's hybrid search with its stated formula, and with our fusion.

    ENGINE is a type such as qdrant-edge, COLLECTION one of datasets/, KEY=VALUE changes a setting
    of the engine, as in k=2 fusion=dbsf depth.dense=20 exact=false. The engine's two lists are
    fetched separately and fused by its stated formula. The verdict on what it returns: identical,
    identical but for ties, or different. Then quality and latency of its lists, its own fusion, and
    ours (reciprocal ranks, k = 60) of the same lists.

    Exit code: 0 done, whatever the verdict; 2 for an error to fix.
    """
    from functools import partial

    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.resources import make_resources
    from assay.eval.studies.stores.parity import page as report
    from assay.eval.studies.stores.parity.record import log_parity
    from assay.eval.studies.stores.parity.running import measure_parity

    resources = make_resources()
    found = measure_parity(engine, words, limit, resources)
    page = report.write(found, reports_folder())
    log = partial(log_parity, found, page.parent)
    tracked = track(no_track, log, "the reports are kept", resources.progress)
    present(found, as_json, _print, report=page, mlflow_run=tracked)


def _print(parity: "Parity") -> None:
    from assay.eval.report.formats import amount, p_value, signed, size
    from assay.eval.studies.comparison.differences import SYMMETRY
    from assay.eval.studies.stores.parity.page import (
        describe_against,
        describe_ratios,
        describe_recall,
        describe_verdict,
    )

    console = make_console()
    sample = ", a sample" if parity.sampled else ""
    title = f"{parity.label} on {parity.collection} (n = {parity.queries}{sample})"
    console.print(f"{title}: {parity.verdict}", style="bold", markup=False)
    console.print(f"formula: {parity.meaning['formula']}", markup=False)
    console.print(describe_verdict(parity), markup=False)
    _print_examples(console, parity)
    print_table(console, _tabulate(parity))
    for item in parity.quality.differences:
        console.print(
            f"{item.measure}: native minus ours {signed(item.difference.value)} "
            f"({signed(item.interval.low)} … {signed(item.interval.high)}), "
            f"p {p_value(item.adjusted)}: {item.verdict}"
            f"{f', which {SYMMETRY}' if item.presumes_symmetry else ''}",
        )
    for line in (*describe_against(parity), *describe_ratios(parity)):
        console.print(line)
    index = parity.index
    console.print(f"index: {amount(index.seconds)} s, {size(index.bytes)}")
    for name, value in describe_recall(parity):
        console.print(f"{name[:1].lower()}{name[1:]}: {value}")


def _print_examples(console: "Console", parity: "Parity") -> None:
    for example in parity.examples:
        console.print(
            f"  {example.verdict}, from rank {example.rank}: {example.text}",
            style="bold red" if example.verdict == "different" else "",
            markup=False,
        )
        for place in example.places:
            console.print(
                f"    {place.chunk}: returned at {place.returned or '–'}, by the formula at "
                f"{place.expected or '–'}; dense {place.dense or '–'}, keyword "
                f"{place.keyword or '–'}",
                markup=False,
            )


def _tabulate(parity: "Parity") -> "Table":
    from assay.eval.studies.stores.parity.page import system_row
    from assay.eval.studies.stores.parity.quality import MEASURES

    table = make_table("search", *MEASURES, "p50 ms", "p95 ms")
    for system in parity.quality.means:
        row = system_row(parity, system)
        figures = [f"{item.value} ({item.interval})" for item in row.figures]
        table.add_row(row.name, *figures, *(item.value for item in row.latency))
    return table
