"""Calls to a server that are tried again, with what the failed tries cost kept apart."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from math import inf
from typing import TypeVar

from pydantic import Field

from assay.retrievers.settings import Settings

T = TypeVar("T")

# The statuses of HTTP that a server gives for reasons that pass.
PASSING = (429, 502, 503, 504)
# Those of gRPC for who has no right to ask.
DENIED_RPC = ("UNAUTHENTICATED", "PERMISSION_DENIED")
# What a client fails with where an answer has not the form that it counts on.
MISREAD = (LookupError, TypeError, ValueError, AttributeError, AssertionError)
# The longest that a server is waited for because it says so.
LONGEST_WAIT = 60.0


@dataclass(slots=True)
class RetryCost:
    """The cost of retries: their number, and the milliseconds of failed tries and of pauses."""

    retries: int = 0
    milliseconds: float = 0.0


class RetrySettings(Settings):
    """Settings of the retries of a call that failed for a passing reason."""

    attempts: int = Field(3, ge=1, description="tries of one call, the first among them")
    pause: float = Field(
        0.2, ge=0, description="seconds before the second try; doubled before each further one"
    )

    def tell(self, passing: bool) -> str:
        """Return the words on tries in a failure message; none if there was only one."""
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
    """Add `retries` and the `seconds` lost on them to the cost counted in this context."""
    if cost := _cost.get():
        cost.retries += retries
        cost.milliseconds += seconds * 1e3


def call(
    action: Callable[[], T],
    settings: RetrySettings,
    passing: Callable[[Exception], bool],
    asked: Callable[[Exception], float] = lambda _: 0.0,
) -> T:
    """Return the result of `action`; retry if it raises an error that is `passing`.

    `asked` returns the seconds that the server asks to wait. The last error is raised as it is.
    """

    def wait(error: Exception, failed: int) -> None:
        if failed >= settings.attempts or not passing(error):
            raise error
        pause = choose_pause(settings.pause, failed, inf, (0.8, 1.2))
        time.sleep(max(pause, min(asked(error), LONGEST_WAIT)))

    return try_again(action, wait)


def try_again(action: Callable[[], T], wait: Callable[[Exception, int], None]) -> T:
    """Return the result of `action`, retried as needed, and count the cost of failed tries.

    `wait` takes an error and the number of tries so far. It returns when the next try is due, and
    raises if there is to be none.
    """
    failed = 0
    while True:
        begin = time.perf_counter()
        try:
            return action()
        except Exception as error:
            failed += 1
            wait(error, failed)
            count_wait(1, time.perf_counter() - begin)


def choose_pause(first: float, failed: int, longest: float, spread: tuple[float, float]) -> float:
    """Return the seconds before the next try, in part by chance: calls are not to meet again."""
    return min(longest, first * 2.0 ** (failed - 1)) * random.uniform(*spread)


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait that the headers ask for, in any of the forms in use."""
    forms: tuple[tuple[str, Callable[[str], float]], ...] = (
        ("retry-after-ms", lambda value: float(value) / 1000),
        ("retry-after", float),
        ("retry-after", lambda value: parsedate_to_datetime(value).timestamp() - time.time()),
    )
    for name, read in forms:
        with suppress(LookupError, TypeError, ValueError):
            return max(0.0, read(headers[name]))
    return None
