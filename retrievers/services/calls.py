"""Paid calls: within a budget, retried, and with a limit on those at a time."""

import threading
import time
from collections.abc import Callable
from typing import Protocol, Self, TypeVar

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.services.errors import UnansweredError
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.services.prices import Usage
from assay.retrievers.services.retries import choose_pause, count_wait, try_again
from assay.retrievers.settings import Settings

T = TypeVar("T")

LONGEST_BACKOFF = 60.0
LONGEST_WAIT = 600.0  # a provider that asks for more has to be asked another day
ATTEMPTS_UNREACHED = 3  # where there is no network, waiting does not bring it


class PaceSettings(Settings):
    """Limits of the number of calls at once, and of their rate."""

    concurrency: int = Field(10, ge=1, description="calls at a time")
    attempts: int = Field(8, ge=1, description="of one call, before the run stops")
    backoff_seconds: float = Field(
        1.0, ge=0, description="wait before the second attempt; doubled before each further one"
    )


class Metered(Protocol):
    """The result of a call, with the usage that the provider counted."""

    @property
    def usage(self) -> Usage: ...  # noqa: D102


M = TypeVar("M", bound=Metered)


class Calls:
    """Makes the calls to one model, `name`, and enters each into a ledger.

    It is safe to call from any number of threads; at most `calls_at_once` calls are under way.
    The first error that no further call can mend stops it: that call and all later ones raise the
    error. Leaving the context waits for the calls that are under way, because they are paid for.
    """

    def __init__(self, name: str, ledger: CostLedger, pace: PaceSettings) -> None:
        self.calls_at_once = pace.concurrency
        self._name = name
        self._ledger = ledger
        self._pace = pace
        # Held for all that is shared: the ledger, and what follows.
        self._changed = threading.Condition()
        self._calls = 0
        self._answered = False
        self._stopped: AssayError | None = None
        self._held_until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop("interrupted")
        with self._changed:
            while self._calls:
                self._changed.wait()

    @property
    def stopped(self) -> str:
        """The reason why no further call is made; empty as long as calls are made."""
        return str(self._stopped or "")

    def stop(self, reason: str) -> None:
        """Make no further call. The first reason stays."""
        with self._changed:
            self._stopped = self._stopped or AssayError(reason)
            self._changed.notify_all()

    def make(
        self, most_prompt: int, most_output: int, attempt: Callable[[], M], keep: Callable[[M], T]
    ) -> T:
        """Return the result of `keep` on the first attempt that succeeds.

        Before it is sent, a call counts as `most_prompt` and `most_output` tokens. `attempt` raises
        UnansweredError if a retry may succeed, TooLongError if the call is longer than the model
        can read, and AssayError if no further call can succeed. The latter two are raised here too.
        All the time but that of the successful attempt is counted as wait.
        """

        def send() -> T:
            begin = time.perf_counter()
            call = self._reserve(most_prompt, most_output)
            start = time.perf_counter()
            try:
                answer = attempt()
            except AssayError as error:
                self._end(call, stop=str(error))
                raise
            except BaseException as error:
                self._end(call, lost=getattr(error, "charged", True))
                raise
            taken = time.perf_counter() - start
            kept = self._settle(call, answer, keep)
            count_wait(0, time.perf_counter() - begin - taken)
            return kept

        return try_again(send, self._wait)

    def _reserve(self, most_prompt: int, most_output: int) -> str:
        """Enter a call into the ledger, once pauses and limits allow it."""
        with self._changed:
            while True:
                if self._stopped:
                    raise self._stopped
                if (held := self._held_until - time.monotonic()) > 0:
                    self._changed.wait(held)
                elif self._calls >= self.calls_at_once:
                    self._changed.wait()
                elif call := self._ledger.reserve(most_prompt, most_output):
                    self._calls += 1
                    return call
                elif self._calls:  # those under way may turn out to cost less
                    self._changed.wait()
                else:
                    self.stop(f"the budget of {self._ledger.budget} USD allows no further call")

    def _settle(self, call: str, answer: M, keep: Callable[[M], T]) -> T:
        try:
            return keep(answer)
        except BaseException as error:
            self.stop(f"an answer could not be kept: {error}")
            raise
        finally:  # it is paid for, kept or not
            self._end(call, answer.usage)

    def _end(
        self, call: str, usage: Usage | None = None, *, lost: bool = False, stop: str = ""
    ) -> None:
        """Count a call as over, even if its entry fails: others wait for its end."""
        with self._changed:
            self._calls -= 1
            self._changed.notify_all()
            if stop:
                self.stop(stop)
            if usage is None:
                (self._ledger.lose if lost else self._ledger.release)(call)
                return
            self._answered = True
            if not self._ledger.settle(call, usage):
                self.stop(
                    f"{self._name}: a call cost more than it could by its length and"
                    f" max_tokens ({usage.prompt} + {usage.output} tokens)"
                )

    def _wait(self, reason: Exception, made: int) -> None:
        """Wait before the next attempt, `made` having failed, or stop."""
        if not isinstance(reason, UnansweredError):
            raise reason
        asked = reason.wait or 0.0
        pause = choose_pause(self._pace.backoff_seconds, made, LONGEST_BACKOFF, (0.5, 1.0))
        until = time.monotonic() + pause + asked
        with self._changed:
            most = self._pace.attempts
            if reason.unreachable and not self._answered:
                most = min(most, ATTEMPTS_UNREACHED)
            if made >= most or asked > LONGEST_WAIT:
                said = f", which asks to wait {asked:.0f} s" if asked else ""
                self.stop(f"{reason}{said}; given up after {made} attempts")
            if reason.throttled:
                self._held_until = max(self._held_until, until)
            while not self._stopped and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
