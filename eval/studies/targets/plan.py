"""What measuring some targets takes: each pipeline on each collection once, and experiments."""

from collections.abc import Iterator, Mapping

from assay.eval.report.formats import amount
from assay.eval.studies.targets.settings import Target


def describe_plan(targets: Mapping[str, Target]) -> Iterator[str]:
    """Yield the plan in lines: how much there is to do, and the runs by collection."""
    runs: dict[str, dict[str, None]] = {}
    experiments = 0
    for target in targets.values():
        for measurement in target.measurements:
            experiments += measurement.experiment
            if not measurement.experiment:
                there = runs.setdefault(measurement.dataset, {})
                there.update(dict.fromkeys(measurement.pipelines.values()))
    number = sum(map(len, runs.values()))
    yield (
        f"plan: {len(targets)} targets; pipelines, each run once on a collection: {number}; "
        f"experiments: {experiments}"
    )
    for dataset, pipelines in runs.items():
        yield f"  {dataset}: {', '.join(pipelines)}"


def describe_seconds(seconds: Mapping[str, float]) -> str:
    """Return in a line what all took together, and the longest three."""
    longest = list(seconds.items())[:3]
    told = ", ".join(f"{what} {amount(taken)} s" for what, taken in longest)
    return f"{sum(seconds.values()) / 60:.1f} minutes in all; the longest: {told}."
