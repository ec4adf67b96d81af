"""Putting the questions to a language model: in parallel, within a budget, and none twice."""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from pydantic import Field

from retrievers.base import AssayError
from retrievers.contextualisation.plans import CACHE_KIND, Known, Plan, Request, read_known
from retrievers.contextualisation.queue import Queue
from retrievers.language_models.base import Answer, LanguageModel, TooLongError, UnansweredError
from retrievers.language_models.ledger import Account, Ledger
from retrievers.language_models.prices import Prices
from retrievers.settings import Settings, Workshop

LEDGERS = "contexts-ledger"
LONGEST_BACKOFF = 60.0
LONGEST_WAIT = 600.0  # a provider that asks for more has to be asked another day
ATTEMPTS_UNREACHED = 3  # where there is no network, waiting does not bring it


class GenerationSettings(Settings):
    """How a language model is called, and what that may cost."""

    max_cost_usd: float | None = Field(
        None, ge=0, description="budget of these chunks, over all runs; never exceeded"
    )
    prices: Prices | None = Field(
        None, description="US dollars per million tokens; else those known of the model"
    )

    concurrency: int = Field(10, ge=1, description="calls at a time")
    attempts: int = Field(8, ge=1, description="of one call, before the run stops")
    backoff_seconds: float = Field(
        1.0, ge=0, description="wait before the second attempt; doubled before each further one"
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known after a run, by key. `stopped` says why it is not all, if it is not.

    `narrowed` counts the prompts that did not fit and were sent with less of the document. `run`
    and `earlier` are the accounts of this run and of those before it over the same chunks.
    """

    known: Mapping[str, Known]
    stopped: str = ""
    narrowed: int = 0
    run: Account = field(default_factory=Account)
    earlier: Account = field(default_factory=Account)


@dataclass(frozen=True, slots=True)
class _Sent:
    request: Request
    call: str


def generate(
    plan: Plan, model: LanguageModel, settings: GenerationSettings, workshop: Workshop
) -> Outcome:
    """Ask `model` all that `plan` does not know yet; each answer is kept the moment it arrives.

    Raises AssayError before any call: without prices to a budget, without a key or an extra, and
    while another process is at the same work.
    """
    prices = find_prices(model, settings)
    if not plan.requests:
        return Outcome(plan.known)
    path = workshop.cache.root / LEDGERS / f"{plan.job}.jsonl"
    with Ledger(path, prices, settings.max_cost_usd) as ledger, model:
        # What another process answered before this one held the ledger.
        found = read_known(workshop.cache, (request.key for request in plan.requests))
        requests = tuple(request for request in plan.requests if request.key not in found)
        return _Generation(model, settings, ledger, workshop).run(requests, {**plan.known, **found})


def find_prices(model: LanguageModel, settings: GenerationSettings) -> Prices | None:
    """Return the prices to reckon with. Raises AssayError when a budget has none."""
    prices = settings.prices or model.prices
    if prices is None and settings.max_cost_usd is not None:
        raise AssayError(
            f"{model.name}: its prices are not known, and a budget needs them: give --prices"
            " INPUT,CACHE_WRITE,CACHE_READ,OUTPUT in US dollars per million tokens"
        )
    return prices


class _Generation:
    """One run over a plan. The main thread decides and writes; the others only call the model."""

    def __init__(
        self,
        model: LanguageModel,
        settings: GenerationSettings,
        ledger: Ledger,
        workshop: Workshop,
    ) -> None:
        self._model = model
        self._settings = settings
        self._ledger = ledger
        self._workshop = workshop
        self._calls_at_once = min(settings.concurrency, model.calls_at_once or settings.concurrency)
        self._attempts: dict[str, int] = {}
        self._known: dict[str, Known] = {}
        self._stopped = ""
        self._narrowed = 0

    def run(self, requests: Sequence[Request], known: Mapping[str, Known]) -> Outcome:
        """Ask all `requests`. Where the run stops early, the calls under way are awaited."""
        answers = self._ask(Queue(requests))
        for _ in self._workshop.progress.track(answers, "contexts", len(requests)):
            pass
        accounts = (self._ledger.run, self._ledger.earlier)
        return Outcome({**known, **self._known}, self._stopped, self._narrowed, *accounts)

    def _ask(self, queue: Queue) -> Iterator[Request]:
        flying: dict[Future[Answer], _Sent] = {}
        with ThreadPoolExecutor(self._calls_at_once) as pool:
            try:
                while flying or (queue and not self._stopped):
                    self._send(queue, flying, pool)
                    idle = len(flying) < self._calls_at_once and not self._stopped
                    yield from self._land(queue, flying, queue.seconds_to_next() if idle else None)
            finally:  # interrupted: what is under way is paid for
                while flying:
                    with suppress(Exception):  # the first one is on its way up
                        for _ in self._land(queue, flying, None):
                            pass

    def _send(
        self, queue: Queue, flying: dict[Future[Answer], _Sent], pool: ThreadPoolExecutor
    ) -> None:
        while len(flying) < self._calls_at_once and not self._stopped:
            request = queue.take()
            if request is None:
                return
            prompt = request.prompt(shared=queue.is_shared(request))
            call = self._ledger.reserve(prompt.most_tokens, self._model.most_output)
            if call is None:
                queue.give_back(request)
                if not flying:
                    self._stop(f"the budget of {self._ledger.budget} USD allows no further call")
                return
            flying[pool.submit(self._model.answer, prompt)] = _Sent(request, call)

    def _land(
        self, queue: Queue, flying: dict[Future[Answer], _Sent], seconds: float | None
    ) -> Iterator[Request]:
        """Yield the requests that are answered, once a call has ended or `seconds` are over."""
        if not flying:
            time.sleep(seconds or 0)
            return
        done, _ = wait(flying, timeout=seconds, return_when=FIRST_COMPLETED)
        for future in done:
            sent = flying.pop(future)
            try:
                answer = future.result()
            except UnansweredError as reason:
                self._try_again(sent, reason, queue)
            except TooLongError as reason:
                self._try_narrower(sent, reason, queue)
            except AssayError as error:
                self._ledger.release(sent.call)
                self._stop(str(error))
            except BaseException:
                self._ledger.lose(sent.call)
                raise
            else:
                self._keep(sent, answer)
                queue.answered(sent.request)
                yield sent.request

    def _keep(self, sent: _Sent, answer: Answer) -> None:
        known = Known(answer.text, answer.ending, answer.note)
        value = json.dumps(asdict(known), ensure_ascii=False).encode()
        try:
            self._workshop.cache.put_many(CACHE_KIND, {sent.request.key: value})
            self._known[sent.request.key] = known
        finally:  # it is paid for, kept or not
            if not self._ledger.settle(sent.call, answer.usage):
                self._stop(
                    f"{self._model.name}: a call cost more than it could by its length and"
                    f" max_tokens ({answer.usage.prompt} + {answer.usage.output} tokens)"
                )

    def _try_again(self, sent: _Sent, reason: UnansweredError, queue: Queue) -> None:
        (self._ledger.lose if reason.charged else self._ledger.release)(sent.call)
        key = sent.request.key
        made = self._attempts[key] = self._attempts.get(key, 0) + 1
        most = self._settings.attempts
        if reason.unreachable and not self._known:
            most = min(most, ATTEMPTS_UNREACHED)
        backoff = min(LONGEST_BACKOFF, self._settings.backoff_seconds * 2 ** (made - 1))
        # Half of it at random, so that calls turned away together do not return together.
        delay = backoff * (0.5 + random.random() / 2)
        if reason.wait is not None:
            delay += reason.wait
        if made >= most or delay > LONGEST_WAIT:
            asked = f", which asks to wait {reason.wait:.0f} s" if reason.wait else ""
            self._stop(f"{reason}{asked}; given up after {made} attempts")
        queue.delay(sent.request, delay, everything=reason.throttled)

    def _try_narrower(self, sent: _Sent, reason: TooLongError, queue: Queue) -> None:
        self._ledger.release(sent.call)
        narrower = sent.request.narrow()
        if narrower is None:
            chunk = sent.request.chunk_id
            self._stop(f"chunk {chunk}: too long for {self._model.name}: {reason}")
        else:
            self._narrowed += 1
            queue.give_back(narrower)

    def _stop(self, reason: str) -> None:
        self._stopped = self._stopped or reason
