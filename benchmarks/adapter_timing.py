"""What the adapter of an engine takes beside the bare client of its store.

`python -m benchmarks.adapter_timing [ENGINE [KEY=VALUE]...]...` times the engines that are named,
or all that run here; KEY=VALUE changes a setting of the ENGINE before it. Both search the same
index for the same hundred hits, interleaved by query: the client as it connects by default, its
request made ready before. The ratio is what the adapter costs; it may be 1.2. Both search twice in
the same turns: how far the client's ratio to itself lies from 1, the other may be wrong by. The
process ends with 1 where the whole interval of a ratio is over 1.2 or an engine failed.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from assay.eval import no_telemetry
from assay.eval.collections.collection import Query
from assay.eval.configs.engine_settings import ConfiguredEngine, choose_engines
from assay.eval.configs.locations import default_dataset, reports_folder
from assay.eval.configs.resources import make_resources
from assay.eval.report.formats import amount, interval
from assay.eval.report.markdown import make_environment, plain
from assay.eval.runs import environment
from assay.eval.runs.files import encode_json, write_together
from assay.eval.statistics.estimates import Estimate, estimate_percentile_ratio
from assay.eval.studies.stores.engines.engine_bench import Bench, index_engine, open_bench, timed
from assay.eval.studies.stores.engines.timing import (
    Percentiles,
    find_percentiles,
    time_interleaved,
)
from assay.eval.studies.stores.parity.quality import DENSE, KEYWORD
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.raw_client import BareClient, Request
from assay.retrievers.settings import Resources
from benchmarks.latency import ending_in_one_line, positive

DEPTH = 100  # hits a timed query asks for
SECONDS = 30.0  # no further round of timing is begun after that
PAGE = "engine_clients"
TEMPLATE = Path(__file__).with_name("adapter_timing.md.j2")
BOUND = 1.2  # an adapter may take so many times what its client takes
ADAPTER, CLIENT = "adapter", "client"
CONTROL = "control"  # the client once more
AGAIN = "again"  # the adapter, so that neither comes to its own warm caches more often

ClientVerdict = Literal["within", "over", "cannot tell"]


@dataclass(frozen=True)
class ClientTiming:
    """One list of an engine: milliseconds of the adapter and of the bare client.

    `ratio` is the adapter's median over the client's, paired by query, and `control` the client's
    over its own, asked in the same turns: how far that lies from 1, the other may be wrong by.
    """

    search: str
    adapter: Percentiles
    client: Percentiles
    ratio: Estimate
    control: Estimate

    @property
    def verdict(self) -> ClientVerdict:
        """Whether the whole interval of the ratio lies within BOUND, or beyond."""
        if self.ratio.high <= BOUND:
            return "within"
        return "over" if self.ratio.low > BOUND else "cannot tell"


@dataclass(frozen=True)
class ClientCheck:
    """The lists of one engine, each asked of the adapter and of its client."""

    engine: str
    version: str
    facts: Mapping[str, Any]
    lists: tuple[ClientTiming, ...]


@dataclass(frozen=True)
class ClientChecks:
    """Engines on the queries of one collection.

    `absent` are those that failed, with the reason, `unknown` those without a bare client.
    """

    collection: str
    queries: int
    checks: tuple[ClientCheck, ...]
    absent: Mapping[str, str]
    unknown: tuple[str, ...]
    created: str
    environment: Mapping[str, Any]
    command: Sequence[str]

    @property
    def failed(self) -> bool:
        """Whether an engine failed, or is over the bound."""
        over = any(item.verdict == "over" for check in self.checks for item in check.lists)
        return over or bool(self.absent)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        values = asdict(self)
        for check, found in zip(self.checks, values["checks"], strict=True):
            for item, row in zip(check.lists, found["lists"], strict=True):
                row["verdict"] = item.verdict
        return {"bound": BOUND, **values}


def compare_client(search: str, taken: Mapping[str, Sequence[float]]) -> ClientTiming:
    """Return what the times of ADAPTER, CLIENT and CONTROL, paired by query, show of one list."""
    return ClientTiming(
        search=search,
        adapter=find_percentiles(taken[ADAPTER]),
        client=find_percentiles(taken[CLIENT]),
        ratio=estimate_percentile_ratio(taken[CLIENT], taken[ADAPTER], 50),
        control=estimate_percentile_ratio(taken[CLIENT], taken[CONTROL], 50),
    )


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
        command=("python", "-m", "benchmarks.adapter_timing", *options),
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
            compare_client(search, time_interleaved(systems, bench.timed, SECONDS, progress))
            for search, systems in _list_systems(bench, engine, bare)
        )
    finally:
        bare.close()
    facts = dict(engine.metadata())
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


def write_checks(found: ClientChecks, folder: Path) -> Path:
    """Write the page and its JSON into `folder`, which is made; return the path of the page."""
    maker = make_environment(autoescape=False)
    maker.filters["plain"] = plain
    text = maker.from_string(TEMPLATE.read_text()).render(
        found=found,
        command=shlex.join(found.command),
        bound=BOUND,
        ratio=ratio,
        interval=interval,
    )
    files = {f"{PAGE}.md": text.encode(), f"{PAGE}.json": encode_json(found.as_json())}
    return write_together(folder, files)[0]


def ratio(value: float) -> str:
    """Return a ratio to two decimals."""
    return f"{value:.2f}"


def print_checks(found: ClientChecks) -> None:
    """Print a row a list, and what is missing."""
    print(f"adapter over client, {found.queries} queries of {found.collection}")
    print(
        f"{'engine':<14} {'list':<8} adapter ms  client ms   ratio (95 %)          "
        "client twice (95 %)   verdict"
    )
    for check in found.checks:
        for item in check.lists:
            ours, client = (amount(times["p50"].value) for times in (item.adapter, item.client))
            both = (
                f"{ratio(one.value)} ({interval(one, ratio)})" for one in (item.ratio, item.control)
            )
            print(
                f"{check.engine:<14} {item.search:<8} {ours:<11} {client:<11} "
                f"{next(both):<21} {next(both):<21} {item.verdict}"
            )
    for name, reason in found.absent.items():
        print(f"{name}: {reason}")
    if found.unknown:
        print(f"no bare client is known of: {', '.join(found.unknown)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Time adapters; end the process with 1 where one is over or failed, 2 for what is to mend."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.adapter_timing", description=__doc__
    )
    parser.add_argument("names", nargs="*", metavar="ENGINE [KEY=VALUE]...")
    parser.add_argument("--dataset", metavar="NAME", help="collection, by name or folder")
    parser.add_argument("--limit", type=positive, metavar="N", help="ask N of its queries")
    parser.add_argument("--output", type=Path, help="folder of the page (default: the reports)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    options = parser.parse_args(arguments)
    no_telemetry.disable()
    with ending_in_one_line():
        found = check_clients(
            options.names, options.dataset or default_dataset(), options.limit, make_resources()
        )
        page = write_checks(found, options.output or reports_folder() / "engines")
    if options.json:
        print(json.dumps({**found.as_json(), "page": str(page)}, ensure_ascii=False, indent=1))
    else:
        print_checks(found)
        print(f"page    {page}")
    sys.exit(found.failed)


if __name__ == "__main__":
    main()
