"""Measure approximate search with each value of a setting, and through each filter."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from assay.eval.collections.collection import Query
from assay.eval.configs.engine_settings import ConfiguredEngine, read_engine
from assay.eval.running.search_space import describe, parse_axis
from assay.eval.runs.summary.means import estimate_scores
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.stores.engines.engine_bench import (
    Bench,
    IndexCost,
    find_percentiles,
    index_engine,
    open_bench,
    read_words,
    time_interleaved,
)
from assay.eval.studies.stores.recall.curve import DEPTHS, MEASURE, Curve, Point
from assay.eval.studies.stores.recall.filters import (
    ALL,
    Search,
    draw_passages,
    measure_recalls,
    parse_shares,
    search_among,
)
from assay.retrievers.base import AssayError
from assay.retrievers.engines.base import Engine
from assay.retrievers.fusion.ranking import Positions, Scored
from assay.retrievers.settings import Resources

EXACT = "exact search"


@dataclass(frozen=True)
class Variant:
    """An engine configured with one value of the setting; `value` is None for exact search."""

    value: Any
    label: str
    configured: ConfiguredEngine


class Case(NamedTuple):
    """A variant with a filter that allows the passages at `allowed`, all if None."""

    variant: Variant
    share: float
    allowed: Positions | None
    search: Search
    cost: IndexCost


def measure_recall(
    engine: str,
    words: Sequence[str],
    axis: str | None,
    filters: str | None,
    limit: int | None,
    resources: Resources,
) -> Curve:
    """Measure the dense search of an engine along `axis`, `filters` or both.

    `axis` is `key=v1,v2,…`, `filters` are shares as `.5,.1`. `words` are a collection, if not the
    default one, and settings. Raises AssayError before any work starts if one of these is wrong.
    """
    if axis is None and filters is None:
        raise AssayError("give --sweep KEY=V1,V2,…, or --filters SHARE,…, or both")
    collection, overrides = read_words(words)
    configured = read_engine(engine, overrides)
    shares = parse_shares(filters) if filters is not None else []
    key, values = parse_axis(axis) if axis is not None else ("", [])
    variants = list_variants(configured, key, values)
    bench = open_bench(collection, limit, resources)
    given = (("--sweep", axis), ("--filters", filters))
    options = [part for name, text in given if text is not None for part in (name, text)]
    command = configured.command("recall", collection, *options, *bench.options)
    return run_sweep(bench, key, variants, command, resources, shares)


def list_variants(
    engine: ConfiguredEngine, key: str = "", values: Sequence[Any] = ()
) -> list[Variant]:
    """Return the engine with each value of `key`, and last its exact search if it has that.

    Without a key it is the engine set to approximate search, left out if that equals exact search.
    Raises AssayError for a value that the setting does not allow, or without dense search.
    """
    varied = make_approximate(engine)
    exact = read_engine(engine.type) if engine.settings.capabilities.exact else None
    variants = []
    for value in values:
        text = describe(value)
        variants.append(Variant(value, f"{key} {text}", varied.vary(f"{key}={text}")))
    if not key and (exact is None or varied.settings != exact.settings):
        variants.append(Variant(varied.label, varied.label, varied))
    if exact is not None:
        variants.append(Variant(None, EXACT, exact))
    return variants


def make_approximate(engine: ConfiguredEngine) -> ConfiguredEngine:
    """Return the engine set to approximate search, unless its overrides set `exact`.

    Raises AssayError if it has no dense search.
    """
    can = engine.settings.capabilities
    if "dense" not in can.lists:
        raise AssayError(f"engine {engine.type}: {can.describe_lack(engine.type, 'dense')}")
    told = any(override.partition("=")[0] == "exact" for override in engine.overrides)
    if "exact" in type(engine.settings).model_fields and not told:
        return engine.vary("exact=false")
    return engine


def run_sweep(
    bench: Bench,
    key: str,
    variants: Sequence[Variant],
    command: str,
    resources: Resources,
    filters: Sequence[float] = (),
) -> Curve:
    """Index the bench in every variant and measure recall, quality and latency of dense search.

    Each is searched without a filter, and then with one for each share of `filters`. Raises
    AssayError if a value of `key` leaves search exact.
    """
    with ExitStack() as stack:
        engines = [
            stack.enter_context(closing(item.configured.build(resources))) for item in variants
        ]
        indexed = resources.progress.track(engines, "indexing", len(engines))
        costs = [index_engine(bench, engine) for engine in indexed]
        if key:
            _check(variants, engines, key)
        size = len(bench.texts)
        allowed = {share: draw_passages(size, share) for share in (ALL, *filters)}
        cases = [
            Case(variant, share, known, search_among(engine, known, size), cost)
            for variant, engine, cost in zip(variants, engines, costs, strict=True)
            for share, known in allowed.items()
        ]
        points = tuple(_measure(bench, cases, resources))
        facts = dict(engines[0].metadata())
    subject = variants[0].configured
    return Curve(
        **bench.describe("recall", subject.type, subject, facts, command),
        key=key,
        filters=tuple(filters),
        points=points,
    )


def _check(variants: Sequence[Variant], engines: Sequence[Engine], key: str) -> None:
    """Raise AssayError if some value of `key` leaves search exact."""
    for variant, engine in zip(variants, engines, strict=True):
        if variant.value is not None and engine.metadata().get("exact"):
            configured = variant.configured
            can = configured.settings.capabilities.approximate
            indexes = (
                f"set one of its approximate indexes: {', '.join(can)}"
                if can
                else "it has no approximate index"
            )
            raise AssayError(
                f"engine {configured.type}: searches exactly whatever {key} is; {indexes}"
            )


def _measure(bench: Bench, cases: Sequence[Case], resources: Resources) -> Iterator[Point]:
    """Yield a point for each case; at each depth all cases are timed interleaved."""
    taken = {}
    for depth in DEPTHS:
        calls = {str(i): partial(_ask, bench, case.search, depth) for i, case in enumerate(cases)}
        taken[depth] = time_interleaved(calls, bench.timed, resources.progress)
    for i, case in enumerate(cases):
        yield Point(
            value=case.variant.value,
            label=case.variant.label,
            share=case.share,
            recall=measure_recalls(bench, case.search, case.allowed),
            quality=_judge(bench, case.search) if case.allowed is None else None,
            latency_ms={depth: find_percentiles(taken[depth][str(i)]) for depth in DEPTHS},
            seconds=case.cost.seconds,
            bytes=case.cost.bytes,
        )


def _ask(bench: Bench, search: Search, depth: int, query: Query) -> Sequence[Scored]:
    return search(bench.encoded[query.id], depth)


def _judge(bench: Bench, search: Search) -> Estimate:
    """Return the measure of the results of a search at the smallest depth."""
    found = {query.id: _ask(bench, search, min(DEPTHS), query) for query in bench.asked}
    return estimate_scores(MEASURE, bench.score(found, [MEASURE])[MEASURE].values())
