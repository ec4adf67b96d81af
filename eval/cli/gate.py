"""`assay gate`: has a pipeline got worse than its baseline?"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, NoReturn

import click

from assay.eval.cli import options
from assay.eval.cli.output import (
    make_console,
    make_table,
    print_json,
    print_places,
    print_table,
)

if TYPE_CHECKING:
    from rich.console import Console

    from assay.eval.studies.gate.calibration import SelfTest
    from assay.eval.studies.gate.report import GateReport


SELF_TEST = "bm25"


@click.command()
@click.argument("target", required=False, metavar="CONFIG|RUN")
@options.OVERRIDES
@options.dataset("overrides")
@options.engine("target")
@click.option(
    "--base", help="Gate latency too, against this checkout, git revision or other config."
)
@options.BASELINES
@options.GATE_SETTINGS
@click.option(
    "--accept-corpus",
    is_flag=True,
    help="Where the collection changed and the gate does not fail, move the baseline to it.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 on all but a pass.")
@click.option("--junit", type=options.FILE, help="Write JUnit XML to this file.")
@click.option("--markdown", type=options.FILE, help="Write a Markdown comment to this file.")
@click.option(
    "--github",
    is_flag=True,
    help="Annotate and write a step summary; the default where GITHUB_ACTIONS is true.",
)
@click.option("--self-test", is_flag=True, help="Check the gate itself on resampled runs.")
@click.option("--trials", type=options.at_least(200), default=1000, help="Trials of --self-test.")
@options.JSON
def gate(
    target: str | None,
    overrides: tuple[str, ...],
    base: str | None,
    baselines: Path | None,
    settings: Path | None,
    accept_corpus: bool,
    strict: bool,
    junit: Path | None,
    markdown: Path | None,
    github: bool,
    self_test: bool,
    trials: int,
    as_json: bool,
) -> None:
    """Judge CONFIG (run if need be) or a stored RUN against its committed baseline.

    Exit code: 0 for a pass, a warning or cannot tell; 1 for a regression; 2 where nothing can be
    judged. Where the collection changed since the baseline, the baseline's pipeline is run on
    today's, and the difference between both is judged; what the change itself did is shown beside
    it. --accept-corpus then moves the baseline to today's collection. Latency is gated only with
    --base: base and head are then timed interleaved, and their ratio counts. The code of a --base
    that is a checkout or a revision also runs the baseline's pipeline.
    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.progress import ConsoleProgress
    from assay.eval.studies.gate import page
    from assay.eval.studies.gate.output import Outputs, render_json
    from assay.eval.studies.gate.running import (
        baselines_folder,
        judge_target,
        load_settings,
        refresh,
    )
    from assay.retrievers.base import AssayError

    if self_test:
        _test_itself(target or SELF_TEST, overrides, settings, trials, as_json)
    if target is None:
        raise AssayError("assay gate: name a config or a run")
    github = github or os.environ.get("GITHUB_ACTIONS") == "true"
    outputs = Outputs(junit, markdown, github, strict)
    try:
        limits = load_settings(settings)
        folder = baselines_folder(baselines)
        report = judge_target(target, overrides, base, folder, limits, ConsoleProgress())
    except AssayError as error:
        outputs.deliver_failure(target, str(error))
        raise
    outputs.deliver(report)
    written = page.write(report, reports_folder())
    if as_json:
        print_json({**render_json(report), "report": str(written)})
    else:
        print_report(report)
        print_places(report=written)
    if accept_corpus and (done := refresh(report, limits, folder, strict)):
        click.echo(done, err=True)
    sys.exit(1 if report.fails(strict) else 0)


def _test_itself(
    target: str, overrides: Sequence[str], settings: Path | None, trials: int, as_json: bool
) -> NoReturn:
    from assay.eval.progress import ConsoleProgress
    from assay.eval.studies.gate.running import check_gate, load_settings

    limits = load_settings(settings)
    run, result = check_gate(target, overrides, limits, trials, ConsoleProgress())
    if as_json:
        print_json({"run": run.manifest.id, **result.as_json()})
    else:
        print_self_test(result, run.manifest.id)
    sys.exit(0 if result.holds else 1)


STYLES = {
    "pass": "green",
    "regression": "bold red",
    "warning": "bold yellow",
    "cannot tell": "yellow",
}
MOST_LOSERS = 5
LONGEST_TEXT = 40


def print_report(report: "GateReport") -> None:
    """Print the verdict on the whole, what was judged, and the verdict on each."""
    from rich.markup import escape

    from assay.eval.report.formats import count
    from assay.eval.studies.comparison.differences import SYMMETRY
    from assay.eval.studies.gate.sentences import announce, signed

    console = make_console()
    baseline = report.baseline
    queries = count(len(report.head.queries), "query", "queries")
    against = (
        "its baseline's pipeline, on today's collection" if report.collection else "its baseline"
    )
    title, _, rest = announce(report).partition(":")
    style = "yellow" if report.unnoticed and report.verdict == "pass" else STYLES[report.verdict]
    console.print(f"[{style}]{title}[/]:{escape(rest)}\n", highlight=False)
    console.print(f"{baseline.label} against {against} ({queries})", markup=False, highlight=False)
    figures = ("baseline", "head", "difference (95 %)", "adj. p", "verdict")
    table = make_table("measure", *figures, left=("verdict",), ruled=False, whole=True)
    for item in report.measures:
        table.add_row(
            item.measure,
            f"{item.base:.3f}",
            f"{item.head:.3f}",
            signed(item.difference),
            f"{item.p:.4f}",
            f"[{STYLES[item.verdict]}]{item.verdict}[/]",
        )
    print_table(console, table)
    _print_effects(console, report)
    _print_checks(console, report)
    for item in report.measures:
        if item.presumes_symmetry:
            console.print(f"{escape(item.measure)}: the {item.verdict} {SYMMETRY}")
    if report.rebuild:
        console.print(report.rebuild.words, style="yellow", markup=False, soft_wrap=True)
    if report.changes:
        console.print("\nChanged since the baseline:")
    for line in report.changes:
        console.print(f"  {line}", markup=False)
    if report.models:
        console.print(report.models, style="yellow", markup=False, soft_wrap=True)
    if report.losers:
        console.print("\nQueries that lost most:")
    for lost in report.losers[:MOST_LOSERS]:
        change = f"{lost.measure} {lost.base:.3f} → {lost.head:.3f}"
        console.print(escape(f"  {change}  {lost.query}: {shorten(lost.text, LONGEST_TEXT)}"))


def _print_effects(console: "Console", report: "GateReport") -> None:
    """Print what the change of the collection did, beside what the pipeline did."""
    from assay.eval.studies.gate.sentences import EFFECTS, describe_collection, list_effects

    for line in describe_collection(report):
        console.print(line, markup=False, soft_wrap=True)
    effects = list_effects(report)
    if effects:
        heads = ("measure", "difference (95 %)", "queries")
        table = make_table("effect of", *heads, left=("measure",), ruled=False)
        for row in effects:
            table.add_row(*row)
        print_table(console, table)
        console.print(f"[dim]{EFFECTS}[/]")


def _print_checks(console: "Console", report: "GateReport") -> None:
    from rich.markup import escape

    from assay.eval.studies.gate.sentences import list_verdicts

    for name, verdict, sentence in list_verdicts(report)[len(report.measures) :]:
        if verdict != "pass" or name.startswith("latency "):
            console.print(f"{escape(name)}: [{STYLES[verdict]}]{verdict}[/], {escape(sentence)}")
    if report.guarded:
        kept = len(report.guarded) - len(report.broken)
        console.print(f"{kept} of {len(report.guarded)} queries that must not break did not")


def print_self_test(result: "SelfTest", target: str) -> None:
    """Print how often the gate was wrong on resampled runs, and what it found."""
    console = make_console()
    console.print(f"Self-test of the gate on {target}: {result.queries} queries")
    rates = ("trials", "false alarms", "allowed", "pass", "cannot tell")
    table = make_table("unchanged runs", *rates, ruled=False)
    for quiet in result.unchanged:
        label = f"{quiet.moved:.0%} of queries moved either way" if quiet.moved else "rerun"
        rate = _rate(quiet.alarms / quiet.trials, quiet.holds)
        shares = (f"{count / quiet.trials:.0%}" for count in (quiet.passes, quiet.doubts))
        table.add_row(label, str(quiet.trials), rate, f"< {quiet.allowed:.0%}", *shares)
    print_table(console, table)
    margins = ", ".join(f"{margin:.3f} in {name}" for name, margin in result.margins.items())
    console.print(f"A pass excludes drops beyond {margins}.")
    planted_drop = f"planted drop of {result.measure}"
    powers = ("from", "trials", "power stated", "found", "pass")
    table = make_table(planted_drop, *powers, left=("from",), ruled=False)
    for planted in result.planted:
        rate = _rate(planted.found / planted.trials, planted.holds)
        passes = f"{planted.passes / planted.trials:.1%}"
        drop, stated = f"{planted.drop:.3f}", f"{planted.stated:.1%}"
        table.add_row(drop, planted.kind, str(planted.trials), stated, rate, passes)
    print_table(console, table)
    table = make_table("drops of the margin", "from", "trials", "pass", left=("from",), ruled=False)
    for rated in result.at_margin:
        rate = _rate(rated.passes / rated.trials, rated.holds)
        table.add_row(f"{rated.drop:.3f}", rated.kind, str(rated.trials), rate)
    print_table(console, table)
    if not result.planted:
        console.print("So few queries cannot detect any drop reliably: the gate cannot tell.")
    heads = ("false alarms", "found, of drops stated at 80 %")
    table = make_table("other rules on the same trials", *heads, ruled=False)
    for other in result.alternatives:
        table.add_row(other.rule, f"{other.alarms:.1%}", f"{other.found:.1%}")
    if result.alternatives:
        print_table(console, table)
    console.print("The gate keeps what it states." if result.holds else "The gate FAILS its test.")


def _rate(value: float, holds: bool) -> str:
    return f"[{'green' if holds else 'bold red'}]{value:.1%}[/]"
