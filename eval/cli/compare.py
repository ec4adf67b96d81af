"""`assay compare`: runs beside a base, or all pairs of them, query by query."""

import gc
import os
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import present, print_next, track

if TYPE_CHECKING:
    from assay.eval.studies.comparison.comparison import Comparison


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]... [KEY.PATH=VALUE]...")
@click.option("--base", metavar="RUN", help="Compare the others with this one, not all pairs.")
@options.dataset("runs")
@options.ENGINES
@options.MEASURES
@click.option(
    "--effect",
    type=options.Fraction(),
    help="The smallest difference that would matter.  [default: 0.05]",
)
@options.FULL
@click.option("--no-report", is_flag=True, help="Write no report, and log nothing to MLflow.")
@options.rerun("Time the configs again.")
@options.NO_TRACK
@options.JSON
def compare(
    runs: tuple[str, ...],
    base: str | None,
    engines: tuple[str, ...],
    measures: str | None,
    effect: float | None,
    no_report: bool,
    rerun: bool,
    no_track: bool,
    as_json: bool,
) -> None:
    """Compare runs: paired differences, their significance, their cost.

    Without RUN: the pipelines that assay.toml names, with its baseline; a single RUN is compared
    with that too. Of two the second is compared with the first. Three or more are ranked and all
    pairs are compared; with --base RUN each of the others is compared with that one alone.

    Each is a config (run where no equal run is stored; overrides apply to every config), or one in
    an engine, CONFIG@NAME, as in `assay compare native_hybrid@sqlite hybrid_rrf@sqlite hybrid_rrf`;
    the id of a run, the beginning of one, its folder, or the id of a run in MLflow. With --engine
    every config that names no engine is compared in each of those given. All must have been
    judged alike: same collection, queries, judgments and join rule; where one searched a sample,
    the queries that all share are compared. Where all have answers (`assay answer`) by one model
    and prompt, these are compared too. The report is a folder of its own among the runs; the
    same comparison gives the same files.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.named_configs import add_engines, is_config

    project = options.tell_project()
    if project:
        given, base = project.complete(runs, base)
    elif runs:
        given = list(runs)
    else:
        raise options.missing("RUN RUN...", "pipelines")
    if not any(map(is_config, filter(None, [base, *given]))):  # nothing is timed
        # Before NumPy is imported: threads of its BLAS wait busily for 2^16 ticks, not for 2^26.
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.run import write_report
    from assay.eval.running.run_references import split_overrides
    from assay.eval.runs.environment import command_line
    from assay.eval.runs.stored import load
    from assay.eval.scoring.measures import split_names
    from assay.eval.studies.comparison import page as report
    from assay.eval.studies.comparison.differences import EFFECT
    from assay.eval.studies.comparison.record import log_comparison
    from assay.eval.studies.comparison.running import compare_references

    wanted = split_names(measures) if measures else (project and project.measures) or None
    named, overrides = split_overrides(given)
    if base is not None:
        named = [base, *(name for name in named if name != base)]
    references = add_engines(named, engines)
    progress = ConsoleProgress()
    compared = compare_references(
        references, overrides, wanted, effect or EFFECT, progress, base is None, rerun
    )
    gc.freeze()  # the runs stay to the end, and are not looked through for garbage
    page = None if no_report else report.write(compared, reports_folder())

    def log() -> str | None:
        if page is None:
            return None
        folder, command = page.parent, command_line()
        kept = f"the report is kept in {folder}: the same call sends it"

        def send() -> str:
            return log_comparison(
                compared, folder, command, lambda run: write_report(load(run.folder))[0]
            )

        return track(no_track, send, kept, progress)

    present(compared, as_json, print_comparison, log, report=page)
    if not as_json:
        chosen = compared.base if compared.all_pairs else compared.pairs[0].other
        print_next(f"explain {chosen.run.manifest.id}")


def print_comparison(compared: "Comparison", full: bool | None = None) -> None:
    """Print which run is better, a table, and what to check; `full` as for `print_report`."""
    from assay.eval.cli.report_screen import print_report
    from assay.eval.studies.comparison.report import report

    print_report(report(compared), full, titled=False)
