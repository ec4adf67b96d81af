"""`assay compare`: runs against a base, all pairs of runs, or two on several collections."""

import gc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from assay.eval.configs.held_out import suggest_look
from assay.eval.configs.locations import find_project
from assay.eval.configs.named_configs import add_engines, is_config
from assay.eval.running.run_references import split_overrides
from assay.eval.running.study import Argument, Lab, Option, Study, StudyOptions, Written, write_page
from assay.eval.running.study_options import MEASURES, MEASURES_HELP, RERUN, Names, name_dataset
from assay.eval.runs.environment import command_line
from assay.eval.scoring.measures import check_names
from assay.eval.studies.comparison.analysis import check_request
from assay.eval.studies.comparison.asked import read_log
from assay.eval.studies.comparison.brief import report as report_briefly
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.differences import EFFECT
from assay.eval.studies.comparison.report import report as report_runs
from assay.eval.studies.comparison.running import compare_systems, find_systems
from assay.eval.studies.comparison.running import write_page as write_compared
from assay.retrievers.base import AssayError

# What runs configs, writes pages and sends to MLflow is imported where a comparison needs it.
if TYPE_CHECKING:
    from assay.eval.configs.project import Project
    from assay.eval.report.blocks import Report
    from assay.eval.running.experiment import Experiment
    from assay.eval.studies.comparison.collections import Collections
    from assay.eval.studies.comparison.held_out.look import HeldOut

    Found = Comparison | Collections | HeldOut


class CompareOptions(StudyOptions):
    """The runs to compare, their base, the collections and the measures."""

    runs: Annotated[tuple[str, ...], Argument("[RUN]... [KEY.PATH=VALUE]...")] = ()
    base: Annotated[str | None, Option(metavar="RUN")] = Field(
        None, description="Compare the others with this one, not all pairs."
    )
    dataset: Annotated[tuple[str, ...], Option(metavar="NAME")] = Field(
        (), description="Collection, by name or folder; of several: what to expect of a new one."
    )
    engine: Annotated[tuple[str, ...], Option(metavar="NAME")] = Field(
        (), description="Search in this engine; repeatable."
    )
    measures: Annotated[Names, MEASURES] = Field((), description=MEASURES_HELP)
    effect: float = Field(
        EFFECT, gt=0, le=1, description="The smallest difference that would matter."
    )
    asked: Annotated[Path | None, Option(path="file")] = Field(
        None, description="Real questions, one a line: does the verdict hold for their style?"
    )
    brief: bool = Field(
        False, description="Half a page in plain words, also for a pull request: brief.md."
    )
    held_out: bool = Field(
        False,
        description="Is the second better than the first on the questions that assay.toml holds "
        "out? Each such look counts.",
    )
    no_report: bool = Field(False, description="Write no report, and log nothing to MLflow.")
    rerun: Annotated[bool, RERUN] = Field(False, description="Time the configs again.")


def find(asked: CompareOptions, lab: Lab) -> "Found":
    """Compare runs: paired differences, their significance, their cost.

    Without RUN: the pipelines that assay.toml names, with its baseline; a single RUN is compared
    with that too. With two, the second is compared with the first. Three or more are ranked and all
    pairs are compared; with --base RUN each of the others is compared with that one alone. Two
    configs are compared on several collections where --dataset is given more than once. With
    --held-out two configs are compared on questions that nothing else reads, which say only whether
    one is better, ten times: see looks.jsonl.

    Each is a config (run where no equal run is stored; overrides apply to every config), or one in
    an engine, CONFIG@NAME, as in `assay compare native_hybrid@sqlite hybrid_rrf@sqlite hybrid_rrf`;
    the id of a run, the beginning of one, or its folder. With --engine every config that names no
    engine is compared in each of those given. All must have been judged alike: same collection,
    queries, judgments and join rule; where one searched a sample, the queries that all share are
    compared. Where all have answers (`assay answer`) by one model and prompt, these are compared
    too. The report is a folder of its own among the runs; the same comparison gives the same files.
    """
    project = find_project()
    if project:
        lab.progress.say(f"settings from {project.source}")
    given, base = _complete(asked, project)
    measures = list(asked.measures) or (project and project.measures) or None
    wanted = check_names(measures) if measures else None
    named, overrides = split_overrides(given)
    if base is not None:
        named = [base, *(name for name in named if name != base)]
    references = add_engines(named, asked.engine)
    if asked.held_out:
        return _look(references, overrides, asked, lab)
    check_request(len(references), wanted, asked.effect)

    def compare(systems: Sequence[Any]) -> Comparison:
        return compare_systems(
            systems, wanted, asked.effect, lab.progress, base is None, asked.rerun
        )

    if len(asked.dataset) > 1:
        if asked.brief:
            raise AssayError("--brief: of one collection; allowed: one --dataset")
        from assay.eval.running.experiment import find_run
        from assay.eval.studies.comparison.collections import compare_on_collections

        return compare_on_collections(
            references,
            asked.dataset,
            lambda config, dataset: _make(config, dataset, overrides, lab),
            lambda systems: compare([find_run(system, lab.progress) for system in systems]),
        )
    overrides += map(name_dataset, asked.dataset)
    log = read_log(asked.asked) if asked.asked else None
    compared = compare(find_systems(references, overrides, lab.progress))
    found = replace(compared, asked=log, brief=asked.brief)
    if found.weights:
        lab.progress.say(f"{found.base.run.manifest.collection.name}: weighted as {asked.asked}")
    gc.freeze()  # the runs are kept to the end: exclude them from garbage collection
    return found


def _look(
    references: Sequence[str], overrides: Sequence[str], asked: CompareOptions, lab: Lab
) -> "HeldOut":
    """Compare two configs on the held-out questions. Raises AssayError for other requests."""
    from assay.eval.running.experiment import make_experiment
    from assay.eval.studies.comparison.held_out.look import look

    if asked.dataset or asked.asked:
        raise AssayError(f"--{'dataset' if asked.dataset else 'asked'}: not with --held-out")
    if stored := [name for name in references if not is_config(name)]:
        raise AssayError(f"--held-out: compares configs, and {stored[0]} is none")
    systems = [
        make_experiment(reference, overrides, None, {}, lab.progress, asked.rerun)
        for reference in references
    ]
    return look(systems, asked.measures, lab.progress)


def _make(config: str, dataset: str, overrides: Sequence[str], lab: Lab) -> "Experiment":
    """Return the experiment of a config on a collection. Raises AssayError if it is no config."""
    from assay.eval.running.experiment import make_experiment

    if not is_config(config):
        raise AssayError(f"{config}: a stored run is of one collection; give its config instead")
    return make_experiment(config, [*overrides, name_dataset(dataset)], None, {}, lab.progress)


def _complete(asked: CompareOptions, project: "Project | None") -> tuple[list[str], str | None]:
    """Return the references with overrides, and the base, from the options or the project file."""
    if project:
        return project.complete(asked.runs, asked.base)
    if not asked.runs:
        raise AssayError(
            "Missing argument 'RUN RUN...'; or name `pipelines` in assay.toml, for every call."
        )
    return list(asked.runs), asked.base


def report(found: "Found") -> "Report":
    """Return the report of a comparison."""
    if isinstance(found, Comparison):
        return report_briefly(found) if found.brief else report_runs(found)
    from assay.eval.studies.comparison import collections_report
    from assay.eval.studies.comparison.held_out import look

    if isinstance(found, look.HeldOut):
        return look.report(found)
    return collections_report.report(found)


def write(found: "Found", told: "Report", asked: CompareOptions, lab: Lab) -> Written:
    """Write the files of a comparison into a folder of its own, unless none are wanted."""
    if asked.held_out:
        return Written({})
    if not isinstance(found, Comparison):
        return Written({}) if asked.no_report else write_page(found, told, asked, lab)
    place = None if asked.no_report else write_compared(found, lab.reports, asked.rerun)
    if place and asked.brief:
        from assay.eval.report.files import BRIEF, write_pages

        place = place.with_name(BRIEF)
        write_pages(told, place, place.with_suffix(".md"))
    chosen = found.base if found.all_pairs else found.pairs[0].other
    calls = [f"explain {chosen.run.manifest.id}"]
    return Written(
        {"report": place}, [place] if place else [], next=[*calls, *_suggest_look(found, asked)]
    )


def _suggest_look(found: Comparison, asked: CompareOptions) -> list[str]:
    """Return the call that asks the held-out questions of two configs, if the second is better."""
    if (project := find_project()) is None:
        return []
    given, base = _complete(asked, project)
    named = [name for name in dict.fromkeys([base, *given]) if name and "=" not in name]
    if len(named) != 2 or not all(map(is_config, named)) or asked.engine:
        return []
    better = found.pairs[0].headline.verdict == "better"
    return suggest_look(*named) if better else []


def log(found: "Found", files: Sequence[Path], _: Lab) -> str | None:
    """Send a comparison of runs to MLflow."""
    if not isinstance(found, Comparison):
        return None
    from assay.eval.running.run import write_report
    from assay.eval.runs.stored import load
    from assay.eval.studies.comparison.record import log_comparison

    folder = files[0].parent
    return log_comparison(
        found, folder, command_line(), lambda run: write_report(load(run.folder))[0]
    )


ROOM = "eval.studies.comparison"
STUDY: "Study[CompareOptions, Found]" = Study(
    "compare",
    CompareOptions,
    find,
    report,
    forms=(Comparison, f"{ROOM}.collections:Collections", f"{ROOM}.held_out.look:HeldOut"),
    write=write,
    log=log,
    titled=False,
)
