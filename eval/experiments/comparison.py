"""Comparing what a command line names: missing runs are made, configs are timed by turns."""

from collections.abc import Sequence
from pathlib import Path

from eval.analysis.comparison import Comparison, compare
from eval.experiments.config import load_config
from eval.experiments.locations import reports_folder
from eval.experiments.run_references import is_config, resolve
from eval.experiments.timing import find_timing, read_timing
from eval.experiments.workshop import make_workshop
from eval.report.comparison import name_comparison
from retrievers.base import Progress

TIMING = "timing.json"  # in the folder of a comparison


def compare_references(
    references: Sequence[str],
    overrides: Sequence[str],
    measures: Sequence[str],
    effect: float,
    progress: Progress,
) -> Comparison:
    """Compare the runs that `references` mean with the first of them.

    Configs, where the first is one, are timed by turns in one job; once, for the same runs keep
    their timing as they keep their scores. Raises AssayError as `resolve` and `compare` do.
    """
    runs = [resolve(reference, overrides, progress) for reference in references]
    compared = compare(runs, measures, effect)
    path = reports_folder() / name_comparison(compared) / TIMING
    timing = read_timing(path)
    configs = {
        run.manifest.id: load_config(Path(reference), overrides)
        for reference, run in zip(references, runs, strict=True)
        if is_config(reference)
    }
    if timing is None and runs[0].manifest.id in configs and len(configs) > 1:
        limits = configs[runs[0].manifest.id].latency
        queries = [(query.id, query.text) for query in compared.base.run.queries.values()]
        timing = find_timing(path, configs, limits, queries, make_workshop(progress))
    return compare(runs, measures, effect, timing) if timing else compared
