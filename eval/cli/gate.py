"""`assay gate`: has a pipeline got worse than its baseline?"""

import os
import sys
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

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

    from assay.eval.studies.gate.report import GateReport


@click.command()
@click.argument("target", metavar="[CONFIG|RUN]", required=False)
@options.OVERRIDES
@options.pipelines("target")
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
@options.JSON
def gate(
    target: list[str],
    overrides: tuple[str, ...],
    base: str | None,
    baselines: Path | None,
    settings: Path | None,
    accept_corpus: bool,
    strict: bool,
    junit: Path | None,
    markdown: Path | None,
    github: bool,
    as_json: bool,
) -> None:
    """Judge CONFIG (run if need be) or a stored RUN against its committed baseline.

    Without either: each pipeline that assay.toml names.

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

    github = github or os.environ.get("GITHUB_ACTIONS") == "true"
    if len(target) > 1 and (junit or markdown):
        raise AssayError("--junit, --markdown: a file is of one gate; name one of the pipelines")
    outputs = Outputs(junit, markdown, github, strict)
    told, unjudged, fails = [], [], False
    for each in target:
        try:
            limits = load_settings(settings)
            folder = baselines_folder(baselines)
            report = judge_target(each, overrides, base, folder, limits, ConsoleProgress())
        except AssayError as error:
            outputs.deliver_failure(each, str(error))
            unjudged.append(error)
            continue
        outputs.deliver(report)
        written = page.write(report, reports_folder())
        told.append({**render_json(report), "report": str(written)})
        if not as_json:
            print_report(report)
            print_places(report=written)
        if accept_corpus and (done := refresh(report, limits, folder, strict)):
            click.echo(done, err=True)
        fails = fails or report.fails(strict)
    if as_json and told:
        print_json(told[0] if len(target) == 1 else {"gates": told})
    if len(target) == 1 and unjudged:
        raise unjudged[0]
    if unjudged:
        raise AssayError("; ".join(map(str, unjudged)))
    sys.exit(1 if fails else 0)


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
    console.print(report.claim, markup=False, highlight=False)
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
