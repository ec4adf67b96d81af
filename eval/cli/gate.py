"""`assay gate`: has a pipeline got worse than its baseline?"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import describe, print_json, print_places
from assay.eval.cli.report_screen import print_report

if TYPE_CHECKING:
    from assay.eval.runs.trec_runs import Ties
    from assay.eval.studies.gate_files.files import Missing


@click.command()
@click.argument("target", metavar="[CONFIG|RUN]", required=False)
@options.OVERRIDES
@options.pipelines("target")
@options.dataset("overrides")
@options.engine("target")
@click.option(
    "--qrels",
    type=options.FILE,
    help="Judge a file of rankings by these judgments, beside the one at --baseline.",
)
@click.option("--baseline", type=options.FILE, help="The file of rankings it is held against.")
@click.option(
    "--missing",
    type=click.Choice(["fail", "zero"]),
    default="fail",
    show_default=True,
    help="With --qrels: refuse judged queries without a ranking, or score them 0.",
)
@click.option(
    "--ties",
    type=click.Choice(["ranks", "ids"]),
    default="ranks",
    show_default=True,
    help="With --qrels: what decides where scores are equal.",
)
@click.option(
    "--documents",
    type=options.at_least(1),
    help="With --qrels: how many documents there are.  [default: those that the files name]",
)
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
@options.FULL
@options.JSON
def gate(
    target: list[str],
    overrides: tuple[str, ...],
    qrels: Path | None,
    baseline: Path | None,
    missing: "Missing",
    ties: "Ties",
    documents: int | None,
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

    With --qrels and --baseline the target is a file of rankings, a TREC run or JSON Lines, made by
    whatever you search with: it is held against the other file in about a second, and nothing is
    stored.
    """
    if qrels or baseline:
        from assay.eval.cli.gate_files import judge

        judge(
            target, qrels, baseline, settings, missing, ties, documents, strict, markdown, as_json
        )
    from assay.eval.configs.locations import reports_folder
    from assay.eval.progress import ConsoleProgress
    from assay.eval.report.files import write_blocks
    from assay.eval.studies.gate.output import GateFinding, Outputs, name_folder
    from assay.eval.studies.gate.report import report
    from assay.eval.studies.gate.running import (
        baselines_folder,
        judge_target,
        refresh,
    )
    from assay.eval.studies.gate.settings import load_settings
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
            found = judge_target(each, overrides, base, folder, limits, ConsoleProgress())
        except AssayError as error:
            outputs.deliver_failure(each, str(error))
            unjudged.append(error)
            continue
        outputs.deliver(found)
        facts, shown = GateFinding(found), report(found)
        written = write_blocks(facts, shown, reports_folder() / name_folder(found))
        told.append(describe(facts, report=written))
        if not as_json:
            print_report(shown)
            print_places(report=written)
        if accept_corpus and (done := refresh(found, limits, folder, strict)):
            click.echo(done, err=True)
        fails = fails or found.fails(strict)
    if as_json and told:
        print_json(told[0] if len(target) == 1 else {"gates": told})
    if len(target) == 1 and unjudged:
        raise unjudged[0]
    if unjudged:
        raise AssayError("; ".join(map(str, unjudged)))
    sys.exit(1 if fails else 0)
