"""`assay reproduce`: published figures, measured again."""

import sys
from pathlib import Path

import click

from assay.eval.cli import options
from assay.eval.cli.output import present, track
from assay.eval.cli.report_screen import print_report


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
    help="Folder of published.md, .html and .json.  [default: published below the reports]",
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
    from assay.eval.report.files import write_beside
    from assay.eval.shipped import find_shipped
    from assay.eval.studies.reproduction.report import report
    from assay.eval.studies.reproduction.running import log_reproduction, read_request
    from assay.eval.studies.reproduction.running import reproduce as measure
    from assay.eval.studies.reproduction.settings import load_settings

    progress = ConsoleProgress()
    settings = load_settings(path or find_shipped("configs") / "published.yaml")
    chosen = read_request(words, systems, settings)
    found = measure(settings, chosen, systems, rerun, progress)
    told = report(found)
    place = (output or reports_folder() / "published") / "published"
    *_, text = files = write_beside(found, told, place)
    kept = f"the results are kept in {place.parent}"
    tracked = track(no_track, partial(log_reproduction, found, told, files), kept, progress)
    present(found, as_json, lambda _: print_report(told), report=text, mlflow_run=tracked)
    sys.exit(1 if found.unexplained else 0)
