"""`assay demo`: a comparison of two stored runs, and a passage that one of them missed."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import print_next, print_places, show_path
from assay.eval.cli.study_command import takes
from assay.eval.running.study import StudyOptions

if TYPE_CHECKING:
    from assay.eval.studies.comparison.comparison import Comparison


class DemoOptions(StudyOptions):
    """The folder that the demonstration is written into."""

    output: Path | None = Field(
        None, description="Where the runs and the report go.  [default: demo, in the cache]"
    )


@click.command()
@takes(DemoOptions)
@options.FULL
def demo(asked: DemoOptions) -> None:
    """Show a comparison of two runs, and a passage that the better one missed.

    The runs come with Assay: bm25 and hybrid on sixty questions about the documents of an invented
    ferry company. Nothing is searched or downloaded, and it takes seconds. What you see is what
    `assay compare` and `assay explain` show of your own documents.
    """
    from assay.eval.cli.report_screen import print_report
    from assay.eval.running.timing import read_timing
    from assay.eval.runs.stored import load
    from assay.eval.shipped import DEMO, DEMO_RUNS
    from assay.eval.studies.comparison import page as report
    from assay.eval.studies.comparison.analysis import compare
    from assay.eval.studies.comparison.running import TIMING
    from assay.eval.studies.explanation.finding import Explanation
    from assay.eval.studies.explanation.report import report as describe
    from assay.retrievers.store.cache import default_root
    from assay.retrievers.store.files import write_atomically

    folder = asked.output or default_root() / "demo"
    with ZipFile(DEMO) as archive:
        for name in archive.namelist():
            write_atomically(folder / name, archive.read(name))
    runs = [load(folder / name) for name in DEMO_RUNS]
    compared = compare(runs, timing=read_timing(folder / TIMING))
    page = report.write(compared, folder)
    missing = compared.pairs[0].other
    missed = Explanation(missing.run, missing.attribution, wrong=None, query=None)
    print_comparison(compared)
    click.echo(f"\nA correct passage that {DEMO_RUNS[-1]} missed, and the others of its query:")
    print_report(describe(replace(missed, query=missed.worst_query)), full=False)
    click.echo()
    print_places(report=page)
    run = shlex.quote(show_path((folder / DEMO_RUNS[-1]).absolute()))
    print_next(f"explain {run}", "init docs --questions questions.csv")


def print_comparison(compared: "Comparison", full: bool | None = None) -> None:
    """Print the better run, a table, and the warnings; `full` as for `print_report`."""
    from assay.eval.cli.report_screen import print_report
    from assay.eval.studies.comparison.report import report

    print_report(report(compared), full, titled=False)
