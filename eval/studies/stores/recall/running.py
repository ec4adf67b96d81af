"""Where approximate search is asked with one value of a setting after the other."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from assay.eval.collections.catalog import find
from assay.eval.collections.collection import Query
from assay.eval.configs.locations import default_dataset
from assay.eval.running.search_space import describe, parse_axis
from assay.eval.runs import environment
from assay.eval.runs.summary.means import estimate_scores
from assay.eval.studies.stores.engines.engine_bench import Bench, index_engine, open_bench, timed
from assay.eval.studies.stores.engines.timing import find_percentiles, time_interleaved
from assay.eval.studies.stores.parity.quality import score_rankings
from assay.eval.studies.stores.parity.results import IndexCost
from assay.eval.studies.stores.parity.sweep import SECONDS, measure_recalls
from assay.eval.studies.stores.recall.curve import DEPTHS, MEASURE, Curve, Point
from assay.eval.studies.stores.recall.subjects import (
    Searcher,
    Subject,
    explain_exactness,
    find_exact,
    make_approximate,
    read_subject,
)
from assay.retrievers.base import AssayError
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.settings import Resources

EXACT = "exact search"


@dataclass(frozen=True)
class Variant:
    """What is searched with one value of the setting; `value` is None for exact search."""

    value: Any
    label: str
    configured: Subject


def measure_recall(
    engine: str, words: Sequence[str], axis: str, limit: int | None, resources: Resources
) -> Curve:
    """Measure the approximate search of an engine, or of `dense`, along `axis`: `key=v1,v2,…`.

    `words` are a collection, if not the default one, and settings. Raises AssayError before any
    work starts where one of these is wrong.
    """
    names = [word for word in words if "=" not in word]
    if len(names) > 1:
        raise AssayError(f"{names[1]}: one COLLECTION at a time")
    collection = names[0] if names else default_dataset()
    find(collection)
    configured = read_subject(engine, [word for word in words if "=" in word])
    key, values = parse_axis(axis)
    variants = list_variants(configured, key, values)
    bench = open_bench(collection, limit, resources)
    command = configured.command("recall", collection, "--sweep", axis, *bench.options)
    return run_sweep(bench, key, variants, command, resources)


def list_variants(subject: Subject, key: str, values: Sequence[Any]) -> list[Variant]:
    """Return the subject with each value of `key`, and last its exact search where it has that.

    Raises AssayError where a value is none of the setting's, or there is no dense search.
    """
    varied = make_approximate(subject)
    variants = []
    for value in values:
        text = describe(value)
        variants.append(Variant(value, f"{key} {text}", varied.vary(f"{key}={text}")))
    if exact := find_exact(subject):
        variants.append(Variant(None, EXACT, exact))
    return variants


def run_sweep(
    bench: Bench, key: str, variants: Sequence[Variant], command: str, resources: Resources
) -> Curve:
    """Index the bench in every variant and measure recall, quality and latency of dense search.

    Raises AssayError when one of them searches exactly though it should not.
    """
    with ExitStack() as stack:
        engines = [
            stack.enter_context(closing(item.configured.build(resources))) for item in variants
        ]
        indexed = resources.progress.track(engines, "indexing", len(engines))
        costs = [index_engine(bench, engine) for engine in indexed]
        _check(variants, engines, key)
        points = tuple(_measure(bench, variants, engines, costs, resources))
        facts = dict(engines[0].metadata())
    name, now = variants[0].configured.type, datetime.now(UTC)
    place = bench.collection.name.replace(":", ".").replace("/", ".")
    return Curve(
        id=f"recall-{name}-{place}-{now.strftime('%Y%m%dT%H%M%S.%f')[:-3]}",
        engine=name,
        collection=bench.collection.name,
        key=key,
        queries=len(bench.queries),
        sampled=bench.sampled,
        created=now.isoformat(timespec="seconds"),
        encoder=bench.encoder,
        settings=variants[0].configured.settings.model_dump(mode="json"),
        facts=facts,
        points=points,
        environment=environment.describe(),
        command=command,
    )


def _check(variants: Sequence[Variant], engines: Sequence[Searcher], key: str) -> None:
    for variant, engine in zip(variants, engines, strict=True):
        if variant.value is not None and engine.metadata().get("exact"):
            raise AssayError(explain_exactness(variant.configured, key))


def _measure(
    bench: Bench,
    variants: Sequence[Variant],
    engines: Sequence[Searcher],
    costs: Sequence[IndexCost],
    resources: Resources,
) -> Iterator[Point]:
    """Yield a point of each variant; to each depth all are timed interleaved."""
    taken = {}
    for depth in DEPTHS:
        calls = {
            str(i): timed(partial(_search, bench, engine, depth))
            for i, engine in enumerate(engines)
        }
        taken[depth] = time_interleaved(calls, bench.timed, SECONDS, resources.progress)
    for i, (variant, engine, cost) in enumerate(zip(variants, engines, costs, strict=True)):
        found = bench.rank(
            {query.id: _search(bench, engine, min(DEPTHS), query) for query in bench.asked}
        )
        scores = score_rankings(bench.collection, bench.queries, found, [MEASURE])[MEASURE]
        yield Point(
            value=variant.value,
            label=variant.label,
            recall=measure_recalls(bench, engine),
            quality=estimate_scores(MEASURE, scores.values()),
            latency={depth: find_percentiles(taken[depth][str(i)]) for depth in DEPTHS},
            seconds=cost.seconds,
            bytes=cost.bytes,
        )


def _search(bench: Bench, engine: Searcher, depth: int, query: Query) -> list[Scored]:
    return engine.dense(bench.encoded[query.id], depth)
