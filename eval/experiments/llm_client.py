"""Questions to a language model: each answer is kept and paid for once, within a budget."""

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from eval.ragas.judging import NoAnswerError, Question, Reply
from retrievers.base import AssayError
from retrievers.contextualisation.generation import (
    ATTEMPTS_UNREACHED,
    LONGEST_BACKOFF,
    LONGEST_WAIT,
    GenerationSettings,
)
from retrievers.language_models.base import (
    USUAL_BYTES_PER_TOKEN,
    Answer,
    LanguageModel,
    Prompt,
    TooLongError,
    UnansweredError,
)
from retrievers.language_models.ledger import Ledger
from retrievers.language_models.prices import Prices, Usage
from retrievers.store.digest import digest

if TYPE_CHECKING:
    from retrievers.store.cache import Cache

CACHE_KIND = "answers"
CUT = "an answer was cut off at --max-tokens"


class Library:
    """The answers of one model that are kept."""

    def __init__(self, cache: "Cache", model: LanguageModel) -> None:
        self._cache = cache
        self._model = model

    def key(self, prompt: Prompt) -> str:
        """Return what the answer to `prompt` is kept under."""
        return digest("answer", self._model.identity, prompt.text)

    def find(self, key: str) -> Reply | None:
        """Return the kept answer."""
        found = self._cache.get_many(CACHE_KIND, [key])
        return _read(json.loads(found[key])) if key in found else None

    def keep(self, key: str, answer: Answer) -> Reply:
        """Keep an answer, and return it."""
        row = {"text": answer.text, "ending": answer.ending, "note": answer.note}
        value = json.dumps(row, ensure_ascii=False).encode()
        self._cache.put_many(CACHE_KIND, {key: value})
        return _read(row)


def _read(row: dict[str, Any]) -> Reply:
    if row["ending"] == "refusal":
        return Reply("", f"the model refused: {row['note']}")
    return Reply(row["text"], CUT if row["ending"] == "length" else "")


def make_prompt(question: Question) -> Prompt:
    """Return the prompt that asks `question`."""
    return Prompt(question.beginning, question.rest, question.shared)


class Asker:
    """Asks an open model from several threads at a time.

    The first error that no further call can mend stops it: whoever asks gets that error, and so
    does everybody who asks later. Leaving it waits for the calls that are under way.
    """

    def __init__(
        self,
        model: LanguageModel,
        ledger: Ledger,
        settings: GenerationSettings,
        library: Library,
    ) -> None:
        self._model = model
        self._ledger = ledger
        self._settings = settings
        self._library = library
        # Held for all that is shared: the ledger, what is being asked, and the two below.
        self._changed = threading.Condition()
        self._asking: set[str] = set()
        self._calls = 0
        self._answered = False
        self._stopped: AssayError | None = None
        self._held_until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._stop("interrupted")
            while self._calls:
                self._changed.wait()

    def __call__(self, question: Question) -> Reply:
        """Return the answer to `question`, kept or new.

        Raises NoAnswerError where it is longer than the model can read, and AssayError once
        stopped.
        """
        prompt = make_prompt(question)
        key = self._library.key(prompt)
        with self._changed:
            while key in self._asking:
                self._changed.wait()
            if known := self._library.find(key):
                return known
            self._asking.add(key)
        try:
            return self._ask(prompt, key)
        finally:
            with self._changed:
                self._asking.discard(key)
                self._changed.notify_all()

    def _ask(self, prompt: Prompt, key: str) -> Reply:
        made = 0
        while True:
            call = self._reserve(prompt)
            try:
                answer = self._model.answer(prompt)
            except UnansweredError as reason:
                made += 1
                self._enter(call, "lose" if reason.charged else "release")
                self._wait(reason, made)
            except TooLongError:
                self._enter(call, "release")
                raise NoAnswerError("a prompt is longer than the model can read") from None
            except AssayError as error:
                self._enter(call, "release", str(error))
                raise
            except BaseException:
                self._enter(call, "lose")
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
                    continue
                call = self._ledger.reserve(prompt.most_tokens, self._model.most_output)
                if call is not None:
                    self._calls += 1
                    return call
                if not self._calls:
                    budget = self._ledger.budget
                    self._stop(f"the budget of {budget} USD allows no further call")
                else:  # those under way may turn out to cost less
                    self._changed.wait()

    def _settle(self, call: str, key: str, answer: Answer) -> Reply:
        try:
            return self._library.keep(key, answer)
        except BaseException as error:
            with self._changed:
                self._stop(f"an answer could not be kept: {error}")
            raise
        finally:  # it is paid for, kept or not
            with self._ending():
                self._answered = True
                if not self._ledger.settle(call, answer.usage):
                    self._stop(
                        f"{self._model.name}: a call cost more than it could by its length and"
                        f" --max-tokens ({answer.usage.prompt} + {answer.usage.output} tokens)"
                    )

    def _enter(self, call: str, end: str, stop: str = "") -> None:
        with self._ending():
            (self._ledger.lose if end == "lose" else self._ledger.release)(call)
            if stop:
                self._stop(stop)

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """Count a call as over, whatever becomes of its entry: others wait for its end."""
        with self._changed:
            self._calls -= 1
            try:
                yield
            finally:
                self._changed.notify_all()

    def _wait(self, reason: UnansweredError, made: int) -> None:
        """Wait before the next attempt, `made` having failed, or stop."""
        backoff = min(LONGEST_BACKOFF, self._settings.backoff_seconds * 2 ** (made - 1))
        # Half of it at random, so that calls turned away together do not return together.
        until = time.monotonic() + backoff * (0.5 + random.random() / 2) + (reason.wait or 0)
        with self._changed:
            most = self._settings.attempts
            if reason.unreachable and not self._answered:
                most = min(most, ATTEMPTS_UNREACHED)
            if made >= most or (reason.wait or 0) > LONGEST_WAIT:
                self._stop(f"{reason}; given up after {made} attempts")
            if reason.throttled:
                self._held_until = max(self._held_until, until)
            while not self._stopped and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)

    def _stop(self, reason: str) -> None:
        self._stopped = self._stopped or AssayError(reason)
        self._changed.notify_all()


@dataclass
class Estimator:
    """Asks nothing: counts what would be asked, and answers with the questions' own examples.

    Answers that are kept are used. A provider's cache of prompts is left out of account: it makes
    the cost lower.
    """

    model: LanguageModel
    prices: Prices | None
    library: Library
    known: int = 0
    usage: Usage = field(default_factory=Usage)
    usd: float = 0.0
    worst_usd: float = 0.0
    _seen: dict[str, Reply] = field(default_factory=dict)

    @property
    def to_ask(self) -> int:
        """The number of calls to make."""
        return len(self._seen) - self.known

    def __call__(self, question: Question) -> Reply:
        """Return the kept answer, or the example. Not safe to call from several threads."""
        prompt = make_prompt(question)
        key = self.library.key(prompt)
        if key not in self._seen:
            known = self.library.find(key)
            self._seen[key] = known or Reply(question.example)
            if known:
                self.known += 1
            else:
                self._count(prompt, question)
        return self._seen[key]

    def _count(self, prompt: Prompt, question: Question) -> None:
        output = len(question.example.encode()) // USUAL_BYTES_PER_TOKEN
        usage = Usage(
            len(prompt.text.encode()) // USUAL_BYTES_PER_TOKEN,
            output=min(output, self.model.most_output),
        )
        self.usage += usage
        if self.prices:
            self.usd += self.prices.cost(usage)
            self.worst_usd += self.prices.worst(prompt.most_tokens, self.model.most_output)
