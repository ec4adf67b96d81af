"""Latencies of two humps: where a server is asked, they may be a fixed wait of the network.

TCP delays acknowledgements: by 40 ms at least in Linux, by 200 ms at most there and elsewhere
(RFC 1122, 4.2.3.2, allows 500). Nagle's algorithm (RFC 896) holds back the rest of a message until
the part before is acknowledged. Where a client and a server do both, some calls wait as long and
the others do not, whatever is searched.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from assay.eval.runs.latency import TOTAL

LEAST = 20  # queries
SMALLEST_SHARE = 0.1  # of the queries, in either hump
# By the milliseconds of the wait, from where to where the humps may be apart.
WAITS = {40: (36.0, 50.0), 200: (190.0, 225.0)}
EMPTY = 0.5  # of the way from hump to hump, at least, where no query lies
RULE = (
    "the times in order are cut at their widest gap that leaves a tenth of the queries on either "
    "side; the medians of both sides lie 36 to 50 or 190 to 225 ms apart, and half of that way at "
    "least is the gap; of 20 queries or more"
)


@dataclass(frozen=True, slots=True)
class Delay:
    """A wait of `wait` milliseconds in some of `n` calls, that is in a `share` of them.

    `apart` is how far the median of these lies from `usual`, that of the others.
    """

    wait: int
    share: float
    apart: float
    usual: float
    n: int

    def describe(self, where: str) -> str:
        """Return in a sentence what was seen `where`."""
        return (
            f"{where}: {self.share:.0%} of {self.n} queries take {self.apart:.0f} ms longer than "
            f"the others' {self.usual:.1f} ms, with nothing between. This may be the connection "
            f"and not the search: TCP can delay acknowledgements by {self.wait} ms. Set "
            "TCP_NODELAY on the client and on the server, and measure again"
        )


def find_delay(times: Sequence[float]) -> Delay | None:
    """Return the wait that milliseconds of queries show by RULE; None where they show none.

    Where every query waits there is one hump, which tells nothing.
    """
    ordered = sorted(times)
    count = len(ordered)
    if count < LEAST:
        return None
    least = max(1, round(count * SMALLEST_SHARE))
    cut = max(range(least, count - least + 1), key=lambda i: ordered[i] - ordered[i - 1])
    usual, later = median(ordered[:cut]), median(ordered[cut:])
    apart, gap = later - usual, ordered[cut] - ordered[cut - 1]
    for wait, (low, high) in WAITS.items():
        if low <= apart <= high and gap >= EMPTY * apart:
            return Delay(wait, 1 - cut / count, apart, usual, count)
    return None


def describe_delays(
    times: Mapping[str, Sequence[float]], remote: Collection[str]
) -> tuple[str, ...]:
    """Return in sentences the waits that milliseconds by stage show, of stages that are `remote`.

    Others ask no server: what makes them slow is not the network. The whole search is named only
    where no stage is.
    """
    found = {
        stage: delay
        for stage, taken in times.items()
        if stage in remote and (delay := find_delay(taken))
    }
    stages = [stage for stage in found if stage != TOTAL] or list(found)
    return tuple(
        found[stage].describe("the whole search" if stage == TOTAL else stage) for stage in stages
    )
