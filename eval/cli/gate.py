"""`assay gate`: has a pipeline got worse than its baseline?"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from assay.eval.cli import options
from assay.eval.cli.output import present, print_json

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
    from assay.eval.cli.gate_table import print_report
    from assay.eval.progress import ConsoleProgress
    from assay.eval.studies.gate.delivery import Outputs
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
    present(report, as_json, print_report)
    if accept_corpus and (done := refresh(report, limits, folder, strict)):
        click.echo(done, err=True)
    sys.exit(1 if report.fails(strict) else 0)


def _test_itself(
    target: str, overrides: Sequence[str], settings: Path | None, trials: int, as_json: bool
) -> NoReturn:
    from assay.eval.cli.gate_table import print_self_test
    from assay.eval.progress import ConsoleProgress
    from assay.eval.studies.gate.running import check_gate, load_settings

    limits = load_settings(settings)
    run, result = check_gate(target, overrides, limits, trials, ConsoleProgress())
    if as_json:
        print_json({"run": run.manifest.id, **result.as_json()})
    else:
        print_self_test(result, run.manifest.id)
    sys.exit(0 if result.holds else 1)
