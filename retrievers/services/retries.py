"""Calls to a server that are tried again, with what the failed tries cost kept apart."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from pydantic import Field

from assay.retrievers.settings import Settings

T = TypeVar("T")

# The statuses of HTTP that a server gives for reasons that pass.
PASSING = (429, 502, 503, 504)
# Those of gRPC, and those of who has no right to ask.
PASSING_RPC = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED")
DENIED_RPC = ("UNAUTHENTICATED", "PERMISSION_DENIED")
# What a client fails with where an answer has not the form that it counts on.
MISREAD = (LookupError, TypeError, ValueError, AttributeError, AssertionError)
# The longest that a server is waited for because it says so.
LONGEST_WAIT = 60.0


@dataclass(slots=True)
class RetryCost:
    """What retries cost: their number, and the milliseconds of failed tries and of pauses."""

    retries: int = 0
    milliseconds: float = 0.0


class RetrySettings(Settings):
    """How often a call that failed for a passing reason is made again."""

    attempts: int = Field(3, ge=1, description="tries of one call, the first among them")
    pause: float = Field(
        0.2, ge=0, description="seconds before the second try; doubled before each further one"
    )

    def tell(self, passing: bool) -> str:
        """Return what a message of failure says of tries: nothing where there was only one."""
        return f" ({self.attempts} tries)" if passing and self.attempts > 1 else ""


_cost: ContextVar[RetryCost | None] = ContextVar("retry_cost", default=None)


@contextmanager
def count_retries() -> Iterator[RetryCost]:
    """Count the retries made in this context."""
    cost = RetryCost()
    token = _cost.set(cost)
    try:
        yield cost
    finally:
        _cost.reset(token)


def count_wait(retries: int, seconds: float) -> None:
    """Count so many retries, and the time that went by apart from the work, in this context."""
    if cost := _cost.get():
        cost.retries += retries
        cost.milliseconds += seconds * 1e3


def call(
    action: Callable[[], T],
    settings: RetrySettings,
    passing: Callable[[Exception], bool],
    asked: Callable[[Exception], float] = lambda _: 0.0,
) -> T:
    """Return what `action` gives; try again where it raises something `passing`.

    `asked` gives the seconds for which the server asks to be left alone. The last error is raised
    as it is.
    """
    for attempt in range(1, settings.attempts + 1):
        begin = time.perf_counter()
        try:
            return action()
        except Exception as error:
            if attempt == settings.attempts or not passing(error):
                raise
            pause = settings.pause * 2 ** (attempt - 1) * random.uniform(0.8, 1.2)
            time.sleep(max(pause, min(asked(error), LONGEST_WAIT)))
            count_wait(1, time.perf_counter() - begin)
    raise AssertionError("unreachable")
