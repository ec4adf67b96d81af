"""The charges of the services called in a search, and the time lost on retries.

A step of a search is watched: every call that it makes, however deep, records its counts here.
Counts are whole numbers, so that a trace can hold them: costs are in billionths of a US dollar.
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
UNPRICED = "unpriced"  # calls without a known price
TOKENS = "tokens"


@dataclass(slots=True)
class CostMeter:
    """The calls of a step: total `usage`, `charged` and `noted` by name, and retry costs."""

    retried: RetryCost
    usage: Usage = field(default_factory=Usage)
    charged: Counter[str] = field(default_factory=Counter)
    noted: Counter[str] = field(default_factory=Counter)

    @property
    def counts(self) -> Mapping[str, int]:
        """All counts by name; empty if no service was called."""
        retries = {"retries": self.retried.retries} if self.retried.retries else {}
        return {**self.charged, **self.noted, **retries}

    @property
    def waited(self) -> float:
        """The milliseconds lost on failed attempts and pauses."""
        return self.retried.milliseconds


_watch: ContextVar[CostMeter | None] = ContextVar("watch", default=None)


@contextmanager
def watch() -> Iterator[CostMeter]:
    """Meter the calls in this context, except those within a nested `watch`."""
    with count_retries() as retried:
        watched = CostMeter(retried)
        token = _watch.set(watched)
        try:
            yield watched
        finally:
            _watch.reset(token)


def record(usage: Usage, prices: Prices | None, unit: str = TOKENS) -> None:
    """Record the charges of a call: the tokens of `usage`, or other units, at `prices`."""
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
