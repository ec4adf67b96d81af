"""Comparing what a command line names: missing runs are made, configs are timed by turns."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from eval.analysis.comparison import Comparison, compare
from eval.experiments.config import load_config
from eval.experiments.locations import reports_folder
from eval.experiments.run_references import is_config, resolve
from eval.experiments.timing import time_together
from eval.experiments.workshop import make_workshop
from eval.report.comparison import name_comparison
from eval.runs.interleaved_timing import InterleavedTiming
from eval.runs.stored import write_atomically
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
    if timing is None and is_config(references[0]) and sum(map(is_config, references)) > 1:
        configs = {
            run.manifest.id: load_config(Path(reference), overrides)
            for reference, run in zip(references, runs, strict=True)
            if is_config(reference)
        }
        queries = [(query.id, query.text) for query in runs[0].queries.values()]
        timing = time_together(configs, queries, make_workshop(progress))
        if timing:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, timing.model_dump_json(indent=1).encode())
    return compare(runs, measures, effect, timing) if timing else compared


def read_timing(path: Path) -> InterleavedTiming | None:
    """Return the timing in the file at `path`; None where there is none that can be read."""
    try:
        return InterleavedTiming.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
