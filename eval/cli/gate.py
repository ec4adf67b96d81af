"""`assay gate`: has a pipeline got worse than its baseline?"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import click
from click.core import ParameterSource
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import describe, print_json, print_places
from assay.eval.cli.report_screen import print_report
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, Option, StudyOptions
from assay.eval.running.study_options import LARGEST, PipelineOptions, Reference

if TYPE_CHECKING:
    from assay.eval.studies.gate.baseline import Baseline


# What goes with a file of rankings.
OF_FILES = {"config", "qrels", "baseline", "settings", "missing", "ties", "documents", "strict",
            "markdown", "as_json", "full"}  # fmt: skip
File = Annotated[Path | None, Option(path="file")]


@click.group()
def baseline() -> None:
    """Accept a run as the baseline of its config and collection, or show baselines."""


LEFT_OUT = ("scores", "rankings", "config", "format")  # of a baseline that is shown
VERDICT = {"...": "eval.studies.gate.output:GateFinding", "report": str}


class FolderOptions(StudyOptions):
    """The option for the folder of baselines."""

    baselines: Path | None = Field(
        None, description="Folder of the baselines.  [default: baselines below the reports]"
    )


class BaselineOptions(FolderOptions):
    """The options for the folder of baselines, and for the measures that score them."""

    settings: Path | None = Field(
        None, description="Settings of the gate.  [default: configs/gate.yaml]"
    )


class AcceptOptions(BaselineOptions):
    """The run that becomes a baseline."""

    run: Annotated[str, Argument()]


class ShowOptions(FolderOptions):
    """The baseline that is shown; all without a name."""

    name: Annotated[str | None, Argument()] = None


@baseline.command()
@takes(AcceptOptions)
@options.prints(baseline=str, run=str, means={str: float})
def accept(asked: AcceptOptions, as_json: bool) -> None:
    """Make RUN the baseline of its config and collection.

    RUN is the id of a run, the beginning of one, or its folder. Nothing else writes a baseline.
    Runs that are degraded, sampled, or of code that was not committed are refused. Commit the file:
    its diff shows the queries that changed.
    """
    from assay.eval.configs.config import load_config
    from assay.eval.configs.locations import reports_folder
    from assay.eval.configs.named_configs import SUFFIXES
    from assay.eval.runs.stored import find, load
    from assay.eval.studies.gate import baseline as baselining
    from assay.eval.studies.gate.running import baselines_folder
    from assay.eval.studies.gate.settings import load_settings
    from assay.eval.studies.run.run_list import list_runs
    from assay.retrievers.base import AssayError
    from assay.retrievers.store.locks import changing

    run = asked.run
    if run.endswith(SUFFIXES):
        config, rows = load_config(run), list_runs(reports_folder(), scored=False)
        wanted = config.name, Path(config.dataset).name
        newest = next((row.id for row in rows if (row.config, row.collection) == wanted), "")
        way = f"its newest run is {newest}" if newest else f"`assay run {run}` makes one"
        raise AssayError(f"{run}: a baseline is made of a run, not of a config; {way}")
    stored = load(find(reports_folder(), run))
    folder = baselines_folder(asked.baselines)
    manifest = stored.manifest
    path = baselining.locate(folder, manifest.name, manifest.collection.name)
    with changing(path):
        before = baselining.read(path) if path.exists() else None
        baselining.accept(stored, load_settings(asked.settings).scored, folder)
        after = baselining.read(path)
    if as_json:
        print_json({"baseline": str(path), "run": after.run, "means": after.means})
        return
    click.echo(f"{path}: {after.run}")
    for name, mean in after.means.items():
        old = before.means.get(name) if before else None
        was = "" if old is None else f", was {old:.3f}"
        click.echo(f"  {name:<12} {mean:.3f}{was}")


@baseline.command()
@takes(ShowOptions)
@options.prints(baselines=[{"...": "eval.studies.gate.baseline:Baseline", "-": LEFT_OUT}])
def show(asked: ShowOptions, as_json: bool) -> None:
    """Show the baseline NAME, as in hybrid_rrf@scifact, or all."""
    from assay.eval.studies.gate import baseline as baselining
    from assay.eval.studies.gate.running import baselines_folder

    folder = baselines_folder(asked.baselines)
    paths = [folder / f"{asked.name}.json"] if asked.name else sorted(folder.glob("*.json"))
    found = [baselining.read(path) for path in paths]
    if as_json:
        print_json({"baselines": [_describe(item) for item in found]})
        return
    for item in found:
        means = ", ".join(f"{measure} {mean:.3f}" for measure, mean in item.means.items())
        click.echo(f"{item.label}: {means}")
        click.echo(
            f"  {len(item.scores)} queries, run {item.run}, {item.created}, code {item.code}"
        )
    if not found:
        click.echo(f"no baselines in {folder}; make one with `assay baseline accept RUN`")


def _describe(item: "Baseline") -> dict[str, object]:
    return item.model_dump(exclude=set(LEFT_OUT))


class GateOptions(PipelineOptions, BaselineOptions):
    """The options of `assay gate`: what to judge, against what, and where the verdict goes."""

    config: Annotated[Reference | None, Argument("[CONFIG|RUN]")] = None
    qrels: File = Field(
        None,
        description="Judge a file of rankings by these judgments, beside the one at --baseline.",
    )
    baseline: File = Field(None, description="The file of rankings it is held against.")
    missing: Literal["fail", "zero"] = Field(
        "fail",
        description="With --qrels: refuse judged queries without a ranking, or score them 0.",
    )
    ties: Literal["ranks", "ids"] = Field(
        "ranks", description="With --qrels: what decides where scores are equal."
    )
    documents: int | None = Field(
        None,
        ge=1,
        le=LARGEST,
        description="With --qrels: how many documents there are.  [default: those that the files "
        "name]",
    )
    base: str | None = Field(
        None, description="Gate latency too, against this checkout, git revision or other config."
    )
    accept_corpus: bool = Field(
        False,
        description="Where the collection changed and the gate does not fail, move the baseline to "
        "it.",
    )
    strict: bool = Field(False, description="Exit with 1 on all but a pass.")
    junit: File = Field(None, description="Write JUnit XML to this file.")
    markdown: File = Field(None, description="Write a Markdown comment to this file.")
    github: bool = Field(
        False,
        description="Annotate and write a step summary; the default where GITHUB_ACTIONS is true.",
    )


@click.command()
@takes(GateOptions)
@options.FULL
@options.prints(
    VERDICT,
    {"gates": [VERDICT]},
    {"...": "eval.studies.gate_files.judging:FilesVerdict", "verdict_text": str},
)
def gate(asked: GateOptions, as_json: bool) -> None:
    """Judge CONFIG (run if need be) or a stored RUN against its committed baseline.

    Without either: each pipeline that assay.toml names.

    Exit code: 0 for a pass, a warning or cannot tell; 1 for a regression; 2 where nothing can be
    judged. Where the collection changed since the baseline, the baseline's pipeline is run on
    today's, and the difference between both is judged; what the change itself did is shown beside
    it. --accept-corpus then moves the baseline to today's collection. Latency is gated only with
    --base: base and head are then timed interleaved, and their ratio counts. The code of a --base
    that is a checkout or a revision also runs the baseline's pipeline.

    With --qrels and --baseline the target is a file of rankings, a TREC run or JSON Lines, made by
    whatever you search with: it is held against the other file in two seconds, and nothing is
    stored.
    """
    if asked.qrels or asked.baseline or _is_file(asked.config):
        _judge_file(asked, as_json)
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

    github = asked.github or os.environ.get("GITHUB_ACTIONS") == "true"
    target, overrides = asked.choose(options.tell_project())
    if len(target) > 1 and (asked.junit or asked.markdown):
        raise AssayError("--junit, --markdown: a file is of one gate; name one of the pipelines")
    outputs = Outputs(asked.junit, asked.markdown, github, asked.strict)
    told, unjudged, fails = [], [], False
    for each in target:
        try:
            limits = load_settings(asked.settings)
            folder = baselines_folder(asked.baselines)
            found = judge_target(each, overrides, asked.base, folder, limits, ConsoleProgress())
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
        if asked.accept_corpus and (done := refresh(found, limits, folder, asked.strict)):
            click.echo(done, err=True)
        fails = fails or found.fails(asked.strict)
    if as_json and told:
        print_json(told[0] if len(target) == 1 else {"gates": told})
    if len(target) == 1 and unjudged:
        raise unjudged[0]
    if unjudged:
        raise AssayError("; ".join(map(str, unjudged)))
    sys.exit(1 if fails else 0)


def _is_file(target: str | None) -> bool:
    """Return True if the target is a file, and no config."""
    if target is None:
        return False
    from assay.eval.configs.named_configs import is_config

    return not is_config(target) and Path(target).is_file()


def _judge_file(asked: GateOptions, as_json: bool) -> NoReturn:
    """Judge a file, print the verdict and end: with 1 on a regression, else 0.

    Raises AssayError and UsageError for what cannot be judged.
    """
    from assay.eval.studies.gate.settings import load_settings
    from assay.eval.studies.gate_files.judging import judge_files
    from assay.eval.studies.gate_files.report import announce, report

    if asked.qrels is None and asked.baseline is None:
        raise click.UsageError(
            f"{asked.config}: a file of rankings; say by what it is judged, and what it is held "
            f"against: assay gate {asked.config} --qrels q.tsv --baseline b.trec"
        )
    if asked.qrels is None or asked.baseline is None:
        lacking = "--qrels" if asked.qrels is None else "--baseline"
        raise click.UsageError(f"{lacking} is missing: --qrels and --baseline go together")
    context = click.get_current_context()
    for name in context.params:
        if (
            name not in OF_FILES
            and context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        ):
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
        foreseeing=bool(context.meta.get(options.FULL_KEY)),
    )
    told = report(found)
    if asked.markdown:
        from assay.eval.report.renderers.markdown import render
        from assay.retrievers.store.files import write_atomically

        write_atomically(asked.markdown, render(told).encode())
    if as_json:
        print_json({**describe(found), "verdict_text": announce(found)})
    else:
        print_report(told)
    sys.exit(1 if found.fails(asked.strict) else 0)
