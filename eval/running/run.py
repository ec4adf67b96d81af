"""Making the run of a config, and sending it to the tracking store."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.eval.collections.loading import load
from assay.eval.collections.location import list_changed
from assay.eval.configs.locations import reports_folder
from assay.eval.configs.resources import make_resources
from assay.eval.running.cached_summaries import open_memo, summarise_cached
from assay.eval.running.run_memo import OUTPUTS, Memo, is_written, note_written
from assay.eval.runs.execution.execution import RunOutcome, RunSpec, execute
from assay.eval.runs.execution.run_changes import explain_new_run
from assay.eval.runs.files import PAGE
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary import exports
from assay.eval.runs.summary.summary import Summary
from assay.retrievers.base import Progress
from assay.retrievers.settings import Resources

if TYPE_CHECKING:
    from assay.eval.configs.config import RunConfig

NAMED = 5  # changed files that are named


def make_run(
    settings: "RunConfig",
    rerun: bool,
    progress: Progress,
    resources: Resources | None = None,
) -> RunOutcome:
    """Build the pipeline of `settings` and run it on its collection.

    `resources` are the user's where none are given.
    """
    begin = time.time()
    collection = load(settings.dataset, progress)
    plan = make_plan(settings, rerun)
    with settings.build(resources or make_resources(progress)) as retriever:
        outcome = execute(plan, retriever, collection, reports_folder(), progress)
    anew = not (outcome.reused or rerun)
    if anew and (reason := explain_new_run(outcome.run.manifest, reports_folder())):
        progress.say(reason)
    if changed := list_changed(collection.card, begin):
        more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
        progress.say(
            f"{collection.name}: changed during the run: {', '.join(changed[:NAMED])}{more}; it "
            "judged what stood there before: run it again"
        )
    return outcome


def make_plan(settings: "RunConfig", rerun: bool = False) -> RunSpec:
    """Return the spec of the run of `settings`."""
    return RunSpec(
        name=settings.name,
        config=settings.model_dump(mode="json"),
        depth=settings.depth,
        limit=settings.limit,
        latency=settings.latency,
        rerun=rerun,
    )


def write_report(
    run: StoredRun,
    measures: Sequence[str] = (),
    *,
    rerun: bool = False,
    show: Callable[[Summary], None] = lambda _: None,
) -> tuple[Summary, Path]:
    """Export the summary of a run and write its report; return the summary and the page.

    Files that already have the content that would be written are left, unless `rerun`. `show` gets
    the summary before they are written.
    """
    named, memo = _name_measures(run, measures), open_memo(run)
    path = run.folder / PAGE
    summary = summarise_cached(run, named, memo)
    show(summary)
    if rerun or not is_written(memo, run.folder, named, OUTPUTS):
        _export(summary, memo, named, rerun)
        from assay.eval.report.run_page import page

        path = page.write(summary)
        note_written(memo, run.folder, named, OUTPUTS)
    return summary, path


def export_summary(run: StoredRun, measures: Sequence[str] = (), *, rerun: bool = False) -> Summary:
    """Compute all figures of a run, and write the exports that go with them.

    Without `measures` they are those that the run's config names. Exports that already have the
    content that would be written are left, unless `rerun`.
    """
    named, memo = _name_measures(run, measures), open_memo(run)
    summary = summarise_cached(run, named, memo)
    _export(summary, memo, named, rerun)
    return summary


def _export(summary: Summary, memo: Memo, measures: Sequence[str], rerun: bool) -> None:
    """Write the exports of a run, unless they already have the content that would be written."""
    folder = summary.run.folder
    if rerun or not is_written(memo, folder, measures, exports.FILES):
        exports.export(summary)
        note_written(memo, folder, measures, exports.FILES)


def _name_measures(run: StoredRun, measures: Sequence[str]) -> Sequence[str]:
    return run.name_measures(measures) if measures else run.measures


def track(summary: Summary, progress: Progress) -> str | None:
    """Log to MLflow and return the id of the MLflow run; report it if tracking fails."""
    from assay.eval import tracking

    run = summary.run
    kept = f"the run is kept in {run.folder}: send it later with `assay log {run.manifest.id}`"
    return tracking.attempt(lambda: tracking.log_once(summary), kept, progress)
