"""`assay demo`: a comparison of two stored runs, and a passage that one of them missed."""

import shlex
from pathlib import Path
from zipfile import ZipFile

import click

from assay.eval.cli import options
from assay.eval.cli.output import print_next, print_places, show_path


@click.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where the runs and the report go.  [default: demo, in the cache]",
)
@options.FULL
def demo(output: Path | None) -> None:
    """Show a comparison of two runs, and a passage that the better one missed.

    The runs come with Assay: bm25 and hybrid on sixty questions about the documents of an invented
    ferry company. Nothing is searched or downloaded, and it takes seconds. What you see is what
    `assay compare` and `assay explain` show of your own documents.
    """
    from assay.eval.cli.explain import print_query
    from assay.eval.cli.report import print_comparison
    from assay.eval.running.timing import read_timing
    from assay.eval.runs.stored import load
    from assay.eval.shipped import DEMO, DEMO_RUNS
    from assay.eval.studies.comparison import page as report
    from assay.eval.studies.comparison.analysis import compare
    from assay.eval.studies.comparison.running import TIMING
    from assay.eval.studies.explanation.finding import Explanation
    from assay.retrievers.store.cache import default_root
    from assay.retrievers.store.files import write_atomically

    folder = output or default_root() / "demo"
    with ZipFile(DEMO) as archive:
        for name in archive.namelist():
            write_atomically(folder / name, archive.read(name))
    runs = [load(folder / name) for name in DEMO_RUNS]
    compared = compare(runs, timing=read_timing(folder / TIMING))
    page = report.write(compared, folder)
    missing = compared.pairs[0].other
    explained = Explanation(missing.run, missing.attribution, wrong=None, query=None)
    print_comparison(compared)
    click.echo(f"\nA correct passage that {DEMO_RUNS[-1]} missed, and the others of its query:")
    print_query(explained, explained.worst_query)
    click.echo()
    print_places(report=page)
    run = shlex.quote(show_path((folder / DEMO_RUNS[-1]).absolute()))
    print_next(f"explain {run}", "init docs --questions questions.csv")
