"""Where an engine's adapter and the bare client of its store are asked the same, by turns."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from assay.eval.collections.collection import Query
from assay.eval.configs.engine_settings import ConfiguredEngine, choose_engines
from assay.eval.runs import environment
from assay.eval.studies.stores.engines.clients import (
    ADAPTER,
    AGAIN,
    CLIENT,
    CONTROL,
    ClientCheck,
    ClientChecks,
    compare_client,
)
from assay.eval.studies.stores.engines.engine_bench import Bench, index_engine, open_bench, timed
from assay.eval.studies.stores.engines.timing import time_interleaved
from assay.eval.studies.stores.parity.quality import DENSE, KEYWORD
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.raw_client import BareClient, Request
from assay.retrievers.settings import Resources

DEPTH = 100  # hits a timed query asks for
SECONDS = 30.0  # no further round of timing is begun after that


def check_clients(
    names: Sequence[str], dataset: str, limit: int | None, resources: Resources
) -> ClientChecks:
    """Check the engines that are named, or all that can be used here, on a collection's queries.

    What goes wrong in one of several does not keep the others. Raises AssayError for one alone.
    """
    engines = choose_engines(names)
    bench = open_bench(dataset, limit, resources)
    checks: list[ClientCheck] = []
    absent: dict[str, str] = {}
    unknown: list[str] = []
    for configured in engines:
        try:
            with closing(configured.build(resources)) as engine:
                index_engine(bench, engine)
                if found := check_client(bench, configured, engine, resources.progress):
                    checks.append(found)
                else:
                    unknown.append(configured.label)
        except AssayError as error:
            if len(engines) == 1:
                raise
            absent[configured.label] = " ".join(str(error).split())
            resources.progress.say(f"failed: {absent[configured.label]}")
    options = [*names, "--dataset", bench.collection.name, *bench.options]
    return ClientChecks(
        collection=bench.collection.name,
        queries=len(bench.timed),
        checks=tuple(checks),
        absent=absent,
        unknown=tuple(unknown),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        environment=environment.describe(),
        command=("assay", "engines", "check", *options),
    )


def check_client(
    bench: Bench, configured: ConfiguredEngine, engine: Engine, progress: Progress
) -> ClientCheck | None:
    """Time both lists of an engine, which has indexed the bench, beside those of its client.

    None where no bare client is known.
    """
    bare = engine.open_bare()
    if bare is None:
        return None
    try:
        lists = tuple(
            compare_client(
                search,
                time_interleaved(systems, bench.timed, SECONDS, progress),
                configured.settings.capabilities.server,
            )
            for search, systems in _list_systems(bench, engine, bare)
        )
    finally:
        bare.close()
    facts = dict(engine.facts())
    return ClientCheck(configured.label, str(facts.get("version", "")), facts, lists)


def _list_systems(
    bench: Bench, engine: Engine, bare: BareClient
) -> Iterator[tuple[str, dict[str, Callable[[Query], float]]]]:
    """Yield each list that there is, with what measures adapter and client, both twice."""
    asked: dict[str, tuple[Any, Any, Callable[[Query], Any]]] = {
        DENSE: (engine.dense, bare.dense, lambda query: bench.encoded[query.id]),
        KEYWORD: (engine.keyword, bare.keyword, lambda query: query.text),
    }
    for search, (ask, ready, choose) in asked.items():
        if ready is not None:
            adapter, client = _time_adapter(ask, choose), _time_client(ready, choose)
            yield search, {ADAPTER: adapter, CLIENT: client, AGAIN: adapter, CONTROL: client}


def _time_adapter(
    ask: Callable[[Any, int], Any], choose: Callable[[Query], Any]
) -> Callable[[Query], float]:
    return timed(lambda query: ask(choose(query), DEPTH))


def _time_client(
    ready: Callable[[Any, int], Request], choose: Callable[[Query], Any]
) -> Callable[[Query], float]:
    """Return what sends a client's request, which is made ready before the clock is read."""

    def measure(query: Query) -> float:
        request = ready(choose(query), DEPTH)
        return timed(lambda _: request())(query)

    return measure
