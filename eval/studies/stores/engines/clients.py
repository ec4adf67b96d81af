"""What an adapter takes beyond the client of its store: both asked the same, by turns."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.eval.runs.delays import find_delay
from assay.eval.statistics.estimates import Estimate, estimate_percentile_ratio
from assay.eval.studies.stores.engines.timing import Percentiles, find_percentiles

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
    `delays` are fixed waits of the network that either shows, in sentences.
    """

    search: str
    adapter: Percentiles
    client: Percentiles
    ratio: Estimate
    control: Estimate
    delays: tuple[str, ...]

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


def compare_client(search: str, taken: Mapping[str, Sequence[float]], server: bool) -> ClientTiming:
    """Return what the times of ADAPTER, CLIENT and CONTROL, paired by query, show of one list.

    `server` says whether the store is one.
    """
    delays = (
        found.describe(f"{search}, {who}")
        for who in (ADAPTER, CLIENT)
        if server and (found := find_delay(taken[who]))
    )
    return ClientTiming(
        search=search,
        adapter=find_percentiles(taken[ADAPTER]),
        client=find_percentiles(taken[CLIENT]),
        ratio=estimate_percentile_ratio(taken[CLIENT], taken[ADAPTER], 50),
        control=estimate_percentile_ratio(taken[CLIENT], taken[CONTROL], 50),
        delays=tuple(delays),
    )
