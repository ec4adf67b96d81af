"""`assay compare`: runs beside a base, or all pairs of them, query by query."""

import gc
import os
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import (
    make_console,
    make_table,
    present,
    print_next,
    print_table,
    print_warnings,
    track,
)
from assay.eval.cli.ranking_output import STYLES, print_ranking, tell_p

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from assay.eval.studies.comparison.comparison import Comparison, Pair
    from assay.eval.studies.comparison.differences import Difference

BRIEF = "Intervals and p-values hold for all tests of a family at once."


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
@click.option(
    "--by-type", is_flag=True, help="Show types of query too, and every figure of the tests."
)
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
    by_type: bool,
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
    from functools import partial

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

    present(compared, as_json, partial(print_comparison, by_type=by_type), log, report=page)
    if not as_json:
        chosen = compared.base if compared.all_pairs else compared.pairs[0].other
        print_next(f"explain {chosen.run.manifest.id}")


def print_comparison(compared: "Comparison", by_type: bool = False) -> None:
    """Print what is shown, a table for each run beside the base, its cost, and what to check.

    With `by_type` the tables have the types of query, and every figure of the tests.
    """
    from assay.eval.report.formats import count

    console = make_console()
    queries = count(len(compared.base.run.queries), "query", "queries")
    for line in compared.verdict:
        console.print(line, style="bold", markup=False, highlight=False)
    shared = compared.describe_questions()
    name = compared.base.run.manifest.collection.name
    console.print(f"{queries} of {name}{shared}", highlight=False)
    if compared.all_pairs:
        console.print()
        print_ranking(console, compared, by_type)
    if by_type or not compared.all_pairs:
        _print_against_base(console, compared, by_type)
    print_warnings(compared.warnings)
    console.print(_explain(compared) if by_type else BRIEF, style="dim", highlight=False)


def _print_against_base(console: "Console", compared: "Comparison", by_type: bool) -> None:
    base = compared.labels[0]
    for pair, other in zip(compared.against_base, compared.labels[1:], strict=True):
        console.print()
        if len(compared.pairs) > 1:
            console.print(f"{other} against {base}", style="italic", markup=False)
        print_table(console, _table(pair, base, other, by_type))
        if not by_type:
            _print_types(console, pair)
        _print_costs(console, compared, pair)


def _table(pair: "Pair", base: str, other: str, whole: bool) -> "Table":
    from rich.markup import escape

    beside = ("p", "detectable", "d", "+/=/−") if whole else ("p",)
    figures = (escape(base), escape(other), "diff", "95 % interval", *beside, "verdict")
    table = make_table("measure", *figures, left=("verdict",), ruled=False, whole=True)
    table.columns[-1].no_wrap = False  # a verdict may take two lines
    for item in pair.differences:
        table.add_row(item.measure, *_cells(item, whole))
    if pair.by_type and whole:
        table.add_row(f"{pair.by_type[0].measure} by type (n)", style="bold")
        for item in pair.by_type:
            table.add_row(escape(f"  {item.type} ({item.n})"), *_cells(item, whole))
    return table


def _cells(item: "Difference", whole: bool) -> list[str]:
    interval, style = item.interval, STYLES.get(item.verdict, "")
    cells = [
        f"{item.base:.3f}",
        f"{item.other:.3f}",
        f"{item.difference.value:+.3f}",
        f"{interval.low:+.3f} … {interval.high:+.3f}",
        tell_p(item.reported_p),
    ]
    if whole:
        cells += [
            "–" if item.detectable is None else f"{item.detectable:.3f}",
            "–" if item.effect_size is None else f"{item.effect_size:+.2f}",
            f"{item.wins}/{item.ties}/{item.losses}",
        ]
    return [*cells, f"[{style}]{item.verdict}[/]" if style else item.verdict]


def _print_types(console: "Console", pair: "Pair") -> None:
    """Say in a line how many types of query differ, and how to see them."""
    from collections import Counter

    if pair.by_type:
        found = Counter(item.verdict.partition(" (")[0] for item in pair.by_type)
        each = ", ".join(f"{number} {verdict}" for verdict, number in found.most_common())
        line = f"{len(pair.by_type)} types of query (--by-type): {each}"
        console.print(line, markup=False, highlight=False)


def _print_costs(console: "Console", compared: "Comparison", pair: "Pair") -> None:
    from assay.eval.runs.summary.cost import tell_queries
    from assay.eval.scoring.measures import find

    beside = []
    for name in compared.beside:
        one, two = (summary.means[name].value for summary in (pair.base, pair.other))
        digits = min(find(name).digits, 2)
        beside.append(f"{name}: {one:.{digits}f} → {two:.{digits}f}")
    if beside:
        console.print(", ".join(beside))
    for item in pair.latency:
        line = f"p{item.percentile} latency: {item.base:.2f} → {item.other:.2f} ms"
        if ratio := item.ratio:
            line += f", ratio {ratio.value:.2f} ({ratio.low:.2f} … {ratio.high:.2f}, n = {ratio.n})"
        elif item.together:
            line += ", ratio not shown (too few queries)"
        console.print(line)
    if not all(item.together for item in pair.latency):
        console.print(
            "timed apart, perhaps under other load: these figures do not show which is faster"
        )
    if pair.base.cost or pair.other.cost:
        costs = " → ".join(tell_queries(summary.cost) for summary in (pair.base, pair.other))
        console.print(f"USD per 1,000 queries: {costs}")
    if pair.unshown:
        names = ", ".join(pair.unshown)
        others = "pairs" if compared.all_pairs else "runs beside the base"
        console.print(f"without the other {others} {names} would be shown to differ")


def _explain(compared: "Comparison") -> str:
    from assay.eval.statistics.significance import ALPHA, POWER, RESAMPLES

    headline = compared.pairs[0].headline.measure
    what = "pairs" if compared.all_pairs else "runs"
    families = [
        (compared.tests_headline, f"{headline} of all {what}"),
        (compared.tests - compared.tests_headline, "the other measures"),
        (compared.tests_apart, "measures of answers"),
        (compared.tests_by_type, "types of query"),
    ]
    adjusted = ", ".join(f"{name} ({tests})" for tests, name in families if tests)
    family = f", adjusted within each family: {adjusted}" if adjusted else ""
    return (
        "detectable: the smallest difference that these queries find with power "
        f"{POWER}, tested with its family. "
        "95 % simult.: the interval that holds for the whole family at once; it excludes 0 where, "
        "and only where, p is at most "
        f"{ALPHA}; of what is not tested (p –) it is by itself. p: randomisation of signs, "
        f"{RESAMPLES:,} draws{family}; better or worse at {ALPHA}; none for groups too small to "
        f"reach it. Other measures are tested for {what} whose {headline} is shown to differ, "
        f"types of query for those and for {what} whose types "
        "differ from one another; else not tested. d: mean difference over its standard "
        "deviation (d_z). +/=/−: queries won, tied, lost. not shown (too few queries): a "
        f"difference of {compared.effect:g} would not be shown reliably, or so few moved that "
        "none could be."
    )
