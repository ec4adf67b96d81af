"""Where stores are measured side by side, one after the other, on the same bench."""

import re
from collections.abc import Sequence
from pathlib import Path

from assay.eval.configs.engine_settings import ConfiguredEngine, choose_engines
from assay.eval.runs import environment
from assay.eval.studies.stores.engines.benchmark import Benchmark, StoreResult
from assay.eval.studies.stores.engines.benchmark_page import read_stores, write_benchmark
from assay.eval.studies.stores.engines.engine_bench import Bench, open_bench
from assay.eval.studies.stores.engines.measurement import measure_store
from assay.retrievers.base import AssayError
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

OVERRIDE = re.compile(r" (?=[\w.]+=)")  # what stands before each in an engine's label


def measure_stores(
    names: Sequence[str],
    dataset: str,
    limit: int | None,
    passages: int | None,
    folder: Path,
    rerun: bool,
    resources: Resources,
) -> tuple[Benchmark, Path]:
    """Measure the engines that are named, or all that can be used here, on a collection.

    With `passages` distractors bring it to that number. The page in `folder` is written after each
    engine. What it has of other engines on the same bench stays; an engine of which it has this
    very measurement is not measured again, unless `rerun`. One that fails does not keep the others.
    Return all that the page has, and its path. Raises AssayError where it has no engine.
    """
    engines = choose_engines(names)
    bench = open_bench(dataset, limit, resources, passages)
    found = _describe(bench, (), {})
    stores = {store.engine: store for store in read_stores(found, folder)}
    absent: dict[str, str] = {}
    for number, configured in enumerate(engines, 1):
        label, identity = configured.label, _identify(found, configured)
        if not rerun and label in stores and stores[label].identity == identity:
            resources.progress.say(f"{label}: was measured before")
            continue
        resources.progress.say(f"{label}: engine {number} of {len(engines)}")
        try:
            stores[label] = measure_store(bench, configured, identity, resources)
        except AssayError as error:
            absent[label] = " ".join(str(error).split())
            resources.progress.say(f"failed: {absent[label]}")
            continue
        write_benchmark(_describe(bench, tuple(stores.values()), absent), folder)
    if not stores:
        raise AssayError("; ".join(absent.values()) or "no engine can be used here")
    found = _describe(bench, tuple(stores.values()), absent)
    return found, write_benchmark(found, folder)


def _describe(bench: Bench, stores: tuple[StoreResult, ...], absent: dict[str, str]) -> Benchmark:
    name = bench.collection.name
    return Benchmark(
        collection=name,
        identity=digest(
            bench.collection.digest,
            bench.identity,
            len(bench.texts),
            [query.id for query in bench.queries],
        ),
        queries=len(bench.queries),
        timed=len(bench.timed),
        passages=len(bench.texts),
        distractors=bench.distractors,
        encoder=bench.encoder,
        stores=stores,
        absent=absent,
        command=(
            "assay", "engines", "bench",
            *(word for store in stores for word in OVERRIDE.split(store.engine)),
            "--dataset", name, *bench.options,
        ),
    )  # fmt: skip


def _identify(found: Benchmark, configured: ConfiguredEngine) -> str:
    """Return the digest of all that a measurement depends on but the machine."""
    return digest(
        found.identity,
        configured.settings,
        environment.digest_code(),
        environment.packages(),
    )
