"""`assay gate FILE --qrels FILE --baseline FILE`: rankings made elsewhere, judged as they are."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click
from click.core import ParameterSource

from assay.eval.cli.options import FULL_KEY
from assay.eval.cli.output import print_json
from assay.eval.cli.report_screen import print_report
from assay.eval.runs.trec_runs import Ties
from assay.eval.studies.gate.settings import load_settings
from assay.eval.studies.gate_files.files import Missing
from assay.eval.studies.gate_files.judging import judge_files
from assay.eval.studies.gate_files.report import announce, report
from assay.retrievers.store.files import write_atomically

TAKEN = {"target", "qrels", "baseline", "settings", "missing", "ties", "documents", "strict",
         "markdown", "as_json", "full"}  # fmt: skip


def judge(
    files: Sequence[str],
    qrels: Path | None,
    baseline: Path | None,
    settings: Path | None,
    missing: Missing,
    ties: Ties,
    documents: int | None,
    strict: bool,
    markdown: Path | None,
    as_json: bool,
) -> NoReturn:
    """Judge a file, print the verdict and end: with 1 on a regression, else 0.

    Raises AssayError and UsageError for what cannot be judged.
    """
    if qrels is None or baseline is None:
        lacking = "--qrels" if qrels is None else "--baseline"
        raise click.UsageError(f"{lacking} is missing: --qrels and --baseline go together")
    context = click.get_current_context()
    for name in context.params:
        if name not in TAKEN and context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')}: not with --qrels")
    if len(files) != 1:
        raise click.UsageError("--qrels: name one file of rankings")
    found = judge_files(
        Path(files[0]),
        baseline,
        qrels,
        load_settings(settings),
        missing=missing,
        ties=ties,
        documents=documents,
        foreseeing=bool(context.meta.get(FULL_KEY)),
    )
    told = report(found)
    if markdown:
        from assay.eval.report.renderers.markdown import render

        write_atomically(markdown, render(told).encode())
    if as_json:
        print_json({**found.as_json(), "verdict_text": announce(found)})
    else:
        print_report(told)
    sys.exit(1 if found.fails(strict) else 0)
