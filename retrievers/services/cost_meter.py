"""What the services asked in a search charge for it, and the time that is lost on them.

A step of a search is watched: whatever it calls, however deep, records here what was counted.
Counts are whole numbers, so that they stand in a trace: costs are in billionths of a US dollar.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from assay.retrievers.services.prices import Prices, Usage
from assay.retrievers.services.retries import RetryCost, count_retries

NANO = 1_000_000_000
COST = "nano_usd"
UNPRICED = "unpriced"  # calls of which no price is known
TOKENS = "tokens"


@dataclass(slots=True)
class CostMeter:
    """What a step called: `usage` in all, `charged` and `noted` by name, and what retries cost."""

    retried: RetryCost
    usage: Usage = field(default_factory=Usage)
    charged: Counter[str] = field(default_factory=Counter)
    noted: Counter[str] = field(default_factory=Counter)

    @property
    def counts(self) -> Mapping[str, int]:
        """All that was counted; nothing where no service was asked."""
        retries = {"retries": self.retried.retries} if self.retried.retries else {}
        return {**self.charged, **self.noted, **retries}

    @property
    def waited(self) -> float:
        """The milliseconds that went by apart from the work."""
        return self.retried.milliseconds


_watch: ContextVar[CostMeter | None] = ContextVar("watch", default=None)


@contextmanager
def watch() -> Iterator[CostMeter]:
    """Watch what is called in this context, and not within a `watch` inside it."""
    with count_retries() as retried:
        watched = CostMeter(retried)
        token = _watch.set(watched)
        try:
            yield watched
        finally:
            _watch.reset(token)


def record(usage: Usage, prices: Prices | None, unit: str = TOKENS) -> None:
    """Record what a call was charged for: so many tokens, or other units, at `prices`."""
    counted = usage.prompt + usage.output
    if (watched := _watch.get()) is None or not counted:
        return
    watched.usage += usage
    watched.charged[unit] += counted
    if prices is None:
        watched.charged[UNPRICED] += 1
    else:
        watched.charged[COST] += round(prices.cost(usage) * NANO)


def note(name: str, number: int = 1) -> None:
    """Count something else that a reader of the trace should see."""
    if watched := _watch.get():
        watched.noted[name] += number
