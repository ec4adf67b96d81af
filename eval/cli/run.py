"""`assay run`: one pipeline on one collection."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import describe, present, print_json, print_next
from assay.eval.cli.study_command import takes
from assay.eval.running.study_options import RERUN, PipelineOptions, WorkerOptions

if TYPE_CHECKING:
    from assay.eval.runs.summary.summary import Summary


class RunCommandOptions(WorkerOptions, PipelineOptions):
    """The options of `assay run`: the pipelines to run, and how."""

    rerun: Annotated[bool, RERUN] = Field(
        False, description="Measure again though an equal run is stored."
    )


@click.command()
@takes(RunCommandOptions)
@options.FULL
@options.NO_TRACK
@options.prints(options.RUN, {"runs": [options.RUN]})
def run(asked: RunCommandOptions, no_track: bool, as_json: bool) -> None:
    """Run the pipeline CONFIG on its collection: measures, latency, report, MLflow.

    Without CONFIG: all pipelines that assay.toml names, one after the other.

    A run is a function of config, collection, models and code: an equal stored run is shown again,
    and an interrupted one is resumed. Overrides change single keys, as in retriever.fusion.k=10
    dataset=scifact.

    With --engine NAME, or as CONFIG@NAME in any command, a leg of type native_hybrid searches in
    that engine, with its defaults; where there is none, a dense leg does, and is fused here with
    the others. `assay engines list` has the names.
    """
    from functools import partial

    from assay.eval.cluster.distribution import distribute
    from assay.eval.configs.config import load_config
    from assay.eval.configs.locations import find_project
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.run import make_run, track, write_report

    progress = ConsoleProgress()
    config, overrides = asked.choose(options.tell_project())
    wanted = [load_config(each, overrides) for each in config]  # refused before any takes its time
    told = []
    with distribute(asked.ray, progress, asked.ray_gpus) as pool:
        for settings in wanted:
            resources = pool.resources if pool else None
            outcome = make_run(settings, asked.rerun, progress, resources)
            show = (lambda _: None) if as_json else partial(print_summary, reused=outcome.reused)
            summary, page = write_report(outcome.run, settings.measures, show=show)
            log = (lambda: None) if no_track else partial(track, summary, progress)
            if as_json:
                told.append(describe(summary, log, report=page))
            else:
                present(summary, as_json, lambda _: None, log, report=page)
    if as_json:
        _print_json(told)
    elif len(wanted) == 1:
        pair = ["bm25", config[0]] if settings.name != "bm25" else [config[0], "hybrid"]
        given = [item for item in overrides if not item.startswith("dataset=")]
        compare = shlex.join(["compare", *pair, *given, "--dataset", settings.dataset])
        project = find_project()
        if project and project.baseline and project.pipelines == [config[0]] and not overrides:
            compare = "compare"
        print_next(compare, f"explain {summary.run.manifest.id}")
    else:
        print_next("compare")


def _print_json(told: "list[dict[str, Any]]") -> None:
    print_json(told[0] if len(told) == 1 else {"runs": told})


def print_summary(summary: "Summary", reused: bool = False, full: bool | None = None) -> None:
    """Print the verdict of a run in plain words, its measures and what to check.

    `full` is that of `print_report`.
    """
    from assay.eval.cli.output import print_text
    from assay.eval.cli.report_screen import print_report, wants_full
    from assay.eval.report.run_page.report import report

    full = wants_full() if full is None else full
    print_report(report(summary, whole=full), full, titled=False)
    if reused:
        created = summary.run.manifest.created
        print_text(f"Nothing has changed since {created}; --rerun measures again.", "dim")
