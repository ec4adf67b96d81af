"""Prompts in, answers out: within a budget, each paid for once, from as many threads as ask."""

import random
import threading
import time
from typing import Self

from pydantic import Field

from retrievers.base import AssayError
from retrievers.language_models.answers import AnswerCache, KeptAnswer
from retrievers.language_models.base import (
    Answer,
    LanguageModel,
    Prompt,
    TooLongError,
    UnansweredError,
)
from retrievers.language_models.ledger import Ledger
from retrievers.language_models.prices import Prices
from retrievers.settings import Settings

LONGEST_BACKOFF = 60.0
LONGEST_WAIT = 600.0  # a provider that asks for more has to be asked another day
ATTEMPTS_UNREACHED = 3  # where there is no network, waiting does not bring it


class CallSettings(Settings):
    """How a language model is called, and what that may cost."""

    max_cost_usd: float | None = Field(
        None, ge=0, description="budget of one job, over all its runs; never exceeded"
    )
    prices: Prices | None = Field(
        None, description="US dollars per million tokens; else those known of the model"
    )

    concurrency: int = Field(10, ge=1, description="calls at a time")
    attempts: int = Field(8, ge=1, description="of one call, before the run stops")
    backoff_seconds: float = Field(
        1.0, ge=0, description="wait before the second attempt; doubled before each further one"
    )


def find_prices(model: LanguageModel, settings: CallSettings) -> Prices | None:
    """Return the prices to reckon with. Raises AssayError when a budget has none."""
    prices = settings.prices or model.prices
    if prices is None and settings.max_cost_usd is not None:
        raise AssayError(
            f"{model.name}: its prices are not known, and a budget needs them: give --prices"
            " INPUT,CACHE_WRITE,CACHE_READ,OUTPUT in US dollars per million tokens"
        )
    return prices


class LanguageModelClient:
    """Asks an open model, and enters each call into an open ledger.

    It is safe to call from any number of threads; `calls_at_once` calls are under way at most.
    The first error that no further call can mend stops it: whoever asks gets that error, and so
    does everybody who asks later. Leaving it waits for the calls that are under way, because they
    are paid for.
    """

    def __init__(
        self, model: LanguageModel, ledger: Ledger, settings: CallSettings, answers: AnswerCache
    ) -> None:
        self.calls_at_once = min(settings.concurrency, model.calls_at_once or settings.concurrency)
        self._model = model
        self._ledger = ledger
        self._settings = settings
        self._answers = answers
        # Held for all that is shared: the ledger, and what follows.
        self._changed = threading.Condition()
        self._asking: set[str] = set()
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
        """Why no further call is made; empty as long as calls are."""
        return str(self._stopped or "")

    def stop(self, reason: str) -> None:
        """Make no further call. The first reason stays."""
        with self._changed:
            self._stopped = self._stopped or AssayError(reason)
            self._changed.notify_all()

    def ask(self, prompt: Prompt, key: str | None = None) -> KeptAnswer:
        """Return the answer to `prompt`, kept or new; `key` is what it is kept under.

        Without a key it is kept by the model and the words of the prompt. Raises TooLongError
        where the prompt is longer than the model can read, and AssayError once stopped.
        """
        key = key or self._answers.key(prompt)
        with self._changed:
            while key in self._asking:
                self._changed.wait()
            if known := self._answers.find([key]).get(key):
                return known
            self._asking.add(key)
        try:
            return self._ask(prompt, key)
        finally:
            with self._changed:
                self._asking.discard(key)
                self._changed.notify_all()

    def _ask(self, prompt: Prompt, key: str) -> KeptAnswer:
        made = 0
        while True:
            call = self._reserve(prompt)
            try:
                answer = self._model.answer(prompt)
            except UnansweredError as reason:
                made += 1
                self._end(call, lost=reason.charged)
                self._wait(reason, made)
            except TooLongError:
                self._end(call)
                raise
            except AssayError as error:
                self._end(call, stop=str(error))
                raise
            except BaseException:
                self._end(call, lost=True)
                raise
            else:
                return self._settle(call, key, answer)

    def _reserve(self, prompt: Prompt) -> str:
        """Enter a call into the ledger, once all that hinders it has passed."""
        with self._changed:
            while True:
                if self._stopped:
                    raise self._stopped
                if (held := self._held_until - time.monotonic()) > 0:
                    self._changed.wait(held)
                elif self._calls >= self.calls_at_once:
                    self._changed.wait()
                elif call := self._ledger.reserve(prompt.most_tokens, self._model.most_output):
                    self._calls += 1
                    return call
                elif self._calls:  # those under way may turn out to cost less
                    self._changed.wait()
                else:
                    self.stop(f"the budget of {self._ledger.budget} USD allows no further call")

    def _settle(self, call: str, key: str, answer: Answer) -> KeptAnswer:
        try:
            return self._answers.keep(key, answer)
        except BaseException as error:
            self.stop(f"an answer could not be kept: {error}")
            raise
        finally:  # it is paid for, kept or not
            self._end(call, answer)

    def _end(
        self, call: str, answer: Answer | None = None, *, lost: bool = False, stop: str = ""
    ) -> None:
        """Count a call as over, whatever becomes of its entry: others wait for its end."""
        with self._changed:
            self._calls -= 1
            self._changed.notify_all()
            if stop:
                self.stop(stop)
            if answer is None:
                (self._ledger.lose if lost else self._ledger.release)(call)
                return
            self._answered = True
            if not self._ledger.settle(call, answer.usage):
                self.stop(
                    f"{self._model.name}: a call cost more than it could by its length and"
                    f" max_tokens ({answer.usage.prompt} + {answer.usage.output} tokens)"
                )

    def _wait(self, reason: UnansweredError, made: int) -> None:
        """Wait before the next attempt, `made` having failed, or stop."""
        backoff = min(LONGEST_BACKOFF, self._settings.backoff_seconds * 2 ** (made - 1))
        asked = reason.wait or 0.0
        # Half of it at random, so that calls turned away together do not return together.
        until = time.monotonic() + backoff * (0.5 + random.random() / 2) + asked
        with self._changed:
            most = self._settings.attempts
            if reason.unreachable and not self._answered:
                most = min(most, ATTEMPTS_UNREACHED)
            if made >= most or asked > LONGEST_WAIT:
                said = f", which asks to wait {asked:.0f} s" if asked else ""
                self.stop(f"{reason}{said}; given up after {made} attempts")
            if reason.throttled:
                self._held_until = max(self._held_until, until)
            while not self._stopped and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
