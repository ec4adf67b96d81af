"""Calls to a server that are tried again, with what the failed tries cost kept apart."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from pydantic import Field

from retrievers.settings import Settings

T = TypeVar("T")

# The statuses of HTTP that a server gives for reasons that pass.
PASSING = (429, 502, 503, 504)
# What a client fails with where an answer has not the form that it counts on.
MISREAD = (LookupError, TypeError, ValueError, AttributeError, AssertionError)


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


def call(
    action: Callable[[], T], settings: RetrySettings, passing: Callable[[Exception], bool]
) -> T:
    """Return what `action` gives; try again where it raises something `passing`.

    The last error is raised as it is.
    """
    for attempt in range(1, settings.attempts + 1):
        begin = time.perf_counter()
        try:
            return action()
        except Exception as error:
            if attempt == settings.attempts or not passing(error):
                raise
            time.sleep(settings.pause * 2 ** (attempt - 1) * random.uniform(0.8, 1.2))
            if cost := _cost.get():
                cost.retries += 1
                cost.milliseconds += (time.perf_counter() - begin) * 1e3
    raise AssertionError("unreachable")
