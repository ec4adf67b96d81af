"""What measuring some targets will take: each pipeline on each collection once, and experiments."""

from collections.abc import Iterator, Mapping

from eval.targets.settings import Target


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
        f"plan: {number} runs, each pipeline once on each collection, and {experiments} "
        f"measurements of their own, for {len(targets)} targets"
    )
    for dataset, pipelines in runs.items():
        yield f"  {dataset}: {', '.join(pipelines)}"
