"""Timing several configs in one job, so that what sets them apart is not the weather."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from eval.collections.loading import load
from eval.experiments.config import RunConfig
from eval.runs.interleaved_timing import InterleavedTiming, alternate
from eval.runs.latency import choose_spaced
from retrievers.base import Retriever
from retrievers.settings import Workshop
from retrievers.variants import Variants


def time_together(
    configs: Mapping[str, RunConfig],
    queries: Sequence[tuple[str, str]],
    workshop: Workshop,
) -> InterleavedTiming | None:
    """Time `configs`, by the ids of their runs, on `queries`, given as (id, text), by turns.

    They are of one collection and share what they can of their indexes, but no search of another's.
    As many queries are timed, in as much time, as the first config's `latency` allows each. None
    where it allows no query.
    """
    first = next(iter(configs.values()))
    limits = first.latency
    chosen = choose_spaced(queries, limits.queries)
    if not chosen:
        return None
    documents = load(first.dataset).documents
    with ExitStack() as stack:
        variants = stack.enter_context(Variants(workshop))
        contenders = []
        for config in configs.values():
            retriever = stack.enter_context(variants.build(config))
            retriever.index(documents)
            timed = retriever.timed()
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
