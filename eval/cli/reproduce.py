"""`assay reproduce`: published figures, measured again."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import make_console, make_table, present, print_table, track

if TYPE_CHECKING:
    from assay.eval.studies.reproduction.analysis import Reproduction

STYLES = {"OK": "green", "close": "yellow", "differs": "bold red", "beside": "", "not run": "dim"}


@click.command()
@click.argument("words", nargs=-1, metavar="[SET[=COLLECTION]]...")
@click.option(
    "--system", "systems", multiple=True, metavar="NAME", help="This system alone. Repeatable."
)
@click.option(
    "--file", "path", type=options.FILE, help="The figures.  [default: configs/published.yaml]"
)
@options.rerun("Search again, though a run is stored.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of published.md and published.json.  [default: published below the reports]",
)
@options.NO_TRACK
@options.JSON
def reproduce(
    words: tuple[str, ...],
    systems: tuple[str, ...],
    path: Path | None,
    rerun: bool,
    output: Path | None,
    no_track: bool,
    as_json: bool,
) -> None:
    """Measure systems on public sets, beside the figures that others published.

    SET is one of the file, such as scifact or nfcorpus; all where none is given. It is looked for
    as a collection of that name, then in ir_datasets; =COLLECTION says where else it is: a name, a
    folder in BEIR's layout, or irds:ID. Each figure is OK, close, or differs, with the reason where
    it is known; it is shown beside, without a verdict, where the published system is another one.

    Exit code: 0 done; 1 where a figure differs and the file knows no reason; 2 for an error to fix,
    or where none of the sets is here.
    """
    from functools import partial

    from assay.eval.configs.locations import reports_folder
    from assay.eval.progress import ConsoleProgress
    from assay.eval.shipped import find_shipped
    from assay.eval.studies.reproduction import page
    from assay.eval.studies.reproduction.running import log_reproduction, read_request
    from assay.eval.studies.reproduction.running import reproduce as measure
    from assay.eval.studies.reproduction.settings import load_settings

    progress = ConsoleProgress()
    settings = load_settings(path or find_shipped("configs") / "published.yaml")
    chosen = read_request(words, systems, settings)
    found = measure(settings, chosen, systems, rerun, progress)
    files = page.write(found, output or reports_folder() / "published")
    kept = f"the results are kept in {files[0].parent}"
    tracked = track(no_track, partial(log_reproduction, found, files), kept, progress)
    present(found, as_json, _print, report=files[0], mlflow_run=tracked)
    sys.exit(1 if found.unexplained else 0)


def _print(found: "Reproduction") -> None:
    from rich.markup import escape

    from assay.eval.studies.reproduction.page import format_difference, format_figure

    console = make_console()
    for one in found.sets:
        rows = [row for row in one.rows if row.measured is not None]
        if not rows:
            continue
        title = f"{one.title} (n = {one.queries:,})"
        table = make_table("system", "measure", "published", "here", "difference", title=title)
        table.add_column("verdict")
        for row in rows:
            style = STYLES[row.verdict]
            verdict = f"[{style}]{row.verdict}[/]" if style else row.verdict
            measured = format_figure(row.measured or 0)
            name = escape(found.systems[row.figure.system]["title"])
            published = format_figure(row.figure.value)
            difference = format_difference(row.difference)
            table.add_row(name, row.figure.measure, published, measured, difference, verdict)
        print_table(console, table)
        for row in rows:
            if row.reasons:
                line = f"{row.figure.system} {row.figure.measure}: {'; '.join(row.reasons)}"
                console.print(escape(line))
    if number := len(found.unexplained):
        differ = "1 figure differs" if number == 1 else f"{number} figures differ"
        console.print(
            f"{differ}, and the file knows no reason: look at what differs before you trust other "
            "figures of the system",
        )
