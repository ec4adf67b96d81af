"""`assay gate FILE --qrels FILE --baseline FILE`: rankings made elsewhere, judged as they are."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from click.core import ParameterSource

from assay.eval.cli.options import FULL_KEY
from assay.eval.cli.output import print_json
from assay.eval.cli.report_screen import print_report
from assay.eval.studies.gate.settings import load_settings
from assay.eval.studies.gate_files.judging import judge_files
from assay.eval.studies.gate_files.report import announce, report
from assay.retrievers.store.files import write_atomically

if TYPE_CHECKING:
    from assay.eval.cli.gate import GateOptions

TAKEN = {"config", "qrels", "baseline", "settings", "missing", "ties", "documents", "strict",
         "markdown", "as_json", "full"}  # fmt: skip


def judge(asked: "GateOptions", as_json: bool) -> NoReturn:
    """Judge a file, print the verdict and end: with 1 on a regression, else 0.

    Raises AssayError and UsageError for what cannot be judged.
    """
    if asked.qrels is None or asked.baseline is None:
        lacking = "--qrels" if asked.qrels is None else "--baseline"
        raise click.UsageError(f"{lacking} is missing: --qrels and --baseline go together")
    context = click.get_current_context()
    for name in context.params:
        if name not in TAKEN and context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')}: not with --qrels")
    if asked.config is None:
        raise click.UsageError("--qrels: name one file of rankings")
    found = judge_files(
        Path(asked.config),
        asked.baseline,
        asked.qrels,
        load_settings(asked.settings),
        missing=asked.missing,
        ties=asked.ties,
        documents=asked.documents,
        foreseeing=bool(context.meta.get(FULL_KEY)),
    )
    told = report(found)
    if asked.markdown:
        from assay.eval.report.renderers.markdown import render

        write_atomically(asked.markdown, render(told).encode())
    if as_json:
        print_json({**found.as_json(), "verdict_text": announce(found)})
    else:
        print_report(told)
    sys.exit(1 if found.fails(asked.strict) else 0)
