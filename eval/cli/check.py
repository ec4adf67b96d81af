"""`assay check`: the rules that a user's retriever or part keeps or breaks."""

import sys
from typing import TYPE_CHECKING, Annotated

import click

from assay.eval.cli import options
from assay.eval.cli.output import present
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, StudyOptions
from assay.eval.running.study_options import Overrides

if TYPE_CHECKING:
    from assay.eval.configs.checking import ConformanceReport

MARKS = {"passed": "ok", "failed": "FAILED", "skipped": "-"}


class CheckOptions(StudyOptions):
    """The config or class to check, and changes of its settings."""

    retriever: Annotated[str, Argument()]
    overrides: Overrides = ()


@click.command()
@takes(CheckOptions)
@options.prints("eval.configs.checking:ConformanceReport")
def check(asked: CheckOptions, as_json: bool) -> None:
    """Check that RETRIEVER follows the interface: exit 0 if it does, 1 if not.

    RETRIEVER is a config, package.module:Class, or the address of a service. The class is a
    retriever, or the settings of a part: leg, stage, query step, encoder, cross-encoder, engine,
    chunker. Overrides are keys of the config, or of such settings. Plugins of a pipeline are
    checked too.

    A service gets some hundred requests about the documents of dataset=NAME, which it must have
    indexed.
    """
    from assay.eval.configs import checking

    checked = checking.check(asked.retriever, asked.overrides)
    present(checked, as_json, _print)
    if checked.failed:
        sys.exit(1)


def _print(checked: "ConformanceReport") -> None:
    from itertools import groupby

    for part, verdicts in groupby(checked.verdicts, key=lambda verdict: verdict.part):
        click.secho(part, bold=True)
        for verdict in verdicts:
            rule = verdict.rule.replace("_", " ")
            click.echo(f"  {MARKS[verdict.status]:<7} {rule:<34} {verdict.why}".rstrip())
    click.echo(f"{checked.what}: {checked.failed} of {len(checked.verdicts)} rules are broken")
