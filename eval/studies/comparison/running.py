"""Comparison of configs and stored runs: missing runs are made, systems timed interleaved.

The modules that run configs are imported only if there is a config, not for stored runs alone.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.eval.configs.locations import reports_folder
from assay.eval.configs.named_configs import is_config, list_configs
from assay.eval.running.cached_summaries import summarise_cached
from assay.eval.running.timing import System, find_timing, read_timing
from assay.eval.runs.stored import StoredRun, find, load
from assay.eval.studies.comparison.analysis import check_request, compare
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.latency_pairs import pair_latencies
from assay.retrievers.base import AssayError, Progress

if TYPE_CHECKING:
    from assay.eval.running.experiment import Experiment

TIMING = "timing.json"  # in the folder of a comparison


def find_systems(
    references: Sequence[str], overrides: Sequence[str], progress: Progress
) -> "list[StoredRun | Experiment]":
    """Return the stored runs that `references` name, and experiments for those that are configs.

    Raises AssayError for a reference that is neither, and for one that is given twice.
    """
    if twice := [name for name, number in Counter(references).items() if number > 1]:
        raise AssayError(f"{twice[0]} is given twice; a comparison needs different runs")
    return [_find_system(reference, overrides, progress) for reference in references]


def _find_system(
    reference: str, overrides: Sequence[str], progress: Progress
) -> "StoredRun | Experiment":
    if not is_config(reference):
        return load(find(reports_folder(), reference, list_configs()))
    from assay.eval.running.experiment import make_experiment

    return make_experiment(reference, overrides, None, {}, progress)


def compare_systems(
    systems: Sequence["StoredRun | Experiment"],
    measures: Sequence[str] | None,
    effect: float,
    progress: Progress,
    all_pairs: bool = False,
    rerun: bool = False,
) -> Comparison:
    """Compare stored runs, and the runs of experiments, with the first, or `all_pairs` of three.

    Experiments are timed interleaved in one job if the base is one. Their timing is kept, as their
    scores are; the same runs are timed again only with `rerun`. Imported rankings are not timed.
    Raises AssayError if an experiment cannot be run, and if the runs were not judged alike.
    """
    check_request(len(systems), measures, effect)
    runs = [
        system if isinstance(system, StoredRun) else _find_run(system, progress)
        for system in systems
    ]
    compared = compare(runs, measures, effect, all_pairs=all_pairs, summarise=summarise_cached)
    path = reports_folder() / compared.id / TIMING
    timed = {
        run.manifest.id: system
        for run, system in zip(runs, systems, strict=True)
        if not isinstance(system, StoredRun) and system.plan.latency.queries
    }
    timing = read_timing(path)
    if len(timed) > 1 and (compared.all_pairs or runs[0].manifest.id in timed):
        first = next(iter(timed.values()))
        timing = find_timing(
            path,
            {run: System(item.build, item.plan.depth) for run, item in timed.items()},
            first.collection,
            first.plan.latency,
            list(compared.base.run.queries.values()),
            progress,
            rerun=rerun,
        )
    if timing is None:
        return compared
    pairs = [
        replace(pair, latency=pair_latencies(pair.base.run, pair.other.run, timing))
        for pair in compared.pairs
    ]
    return replace(compared, timing=timing, pairs=tuple(pairs))


def _find_run(experiment: "Experiment", progress: Progress) -> StoredRun:
    from assay.eval.running.experiment import find_run

    return find_run(experiment, progress)
