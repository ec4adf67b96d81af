"""Timing several configs in one job, so that what sets them apart is not the weather."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from pydantic import ValidationError

from eval.collections.loading import load
from eval.experiments.config import RunConfig
from eval.runs.interleaved_timing import InterleavedTiming, alternate
from eval.runs.latency import LatencySettings, choose_spaced
from retrievers.base import Retriever
from retrievers.settings import Workshop
from retrievers.store.files import write_atomically
from retrievers.variants import Variants


def find_timing(
    path: Path,
    configs: Mapping[str, RunConfig],
    limits: LatencySettings,
    queries: Sequence[tuple[str, str]],
    workshop: Workshop,
) -> InterleavedTiming | None:
    """Return the timing of `configs` kept at `path`, or time them and keep it there.

    The same runs have the same timing ever after, as they have the same scores. None where
    `limits` allow no query.
    """
    kept = read_timing(path)
    if kept and configs.keys() <= kept.milliseconds.keys():
        return kept
    chosen = choose_spaced(queries, limits.queries)
    if not chosen:
        return None
    timing = time_together(configs, limits, chosen, workshop)
    write_atomically(path, f"{timing.model_dump_json(indent=1)}\n".encode())
    return timing


def read_timing(path: Path) -> InterleavedTiming | None:
    """Return the timing in the file at `path`; None where there is none that can be read."""
    try:
        return InterleavedTiming.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def time_together(
    configs: Mapping[str, RunConfig],
    limits: LatencySettings,
    chosen: Sequence[tuple[str, str]],
    workshop: Workshop,
) -> InterleavedTiming:
    """Time `configs`, by the ids of their runs, on the `chosen` queries (id, text), by turns.

    They are of one collection and share what they can of their indexes, but no search of another's.
    """
    documents = load(next(iter(configs.values())).dataset).documents
    with ExitStack() as stack:
        variants = stack.enter_context(Variants(workshop))
        contenders = []
        for config in configs.values():
            retriever = stack.enter_context(variants.build(config))
            retriever.index(documents)
            timed = retriever.without_query_cache()
            for _, text in chosen[: limits.warm_up]:
                timed.search(text, config.depth)
            contenders.append(_time(timed, config.depth))
        texts = [text for _, text in chosen]
        times = alternate(contenders, texts, limits.seconds, workshop.progress)
    reached = [id_ for id_, _ in chosen][: len(times[0])]
    return InterleavedTiming(queries=reached, milliseconds=dict(zip(configs, times, strict=True)))


def _time(retriever: Retriever, depth: int) -> Callable[[str], float]:
    """Return what searches for a text and gives the milliseconds, without waits for retries."""

    def measure(text: str) -> float:
        begin = time.perf_counter()
        ranking = retriever.search(text, depth)
        return (time.perf_counter() - begin) * 1000 - sum(at.waited for at in ranking.trace)

    return measure
