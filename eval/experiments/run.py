"""Making the run of a config, and sending it to the tracking store."""

from eval import tracking
from eval.analysis.summary import Summary
from eval.collections.loading import load
from eval.experiments.config import RunConfig
from eval.experiments.locations import reports_folder
from eval.experiments.workshop import make_workshop
from eval.runs.execution import Outcome, Plan, execute
from retrievers.base import Progress


def make_run(settings: RunConfig, again: bool, progress: Progress) -> Outcome:
    """Build the pipeline of `settings` and run it on its collection."""
    collection = load(settings.dataset)
    plan = make_plan(settings, again)
    with settings.build(make_workshop(progress)) as retriever:
        return execute(plan, retriever, collection, reports_folder(), progress)


def make_plan(settings: RunConfig, again: bool = False) -> Plan:
    """Return what is to be run by `settings`."""
    return Plan(
        name=settings.name,
        config=settings.model_dump(mode="json"),
        depth=settings.depth,
        limit=settings.limit,
        latency=settings.latency,
        again=again,
    )


def track(summary: Summary, progress: Progress) -> str | None:
    """Log to MLflow and return the id of the MLflow run; say so where tracking is down."""
    run = summary.run
    kept = f"the run is kept in {run.folder}: send it later with `assay log {run.manifest.id}`"
    return tracking.attempt(lambda: tracking.log_once(summary), kept, progress)
