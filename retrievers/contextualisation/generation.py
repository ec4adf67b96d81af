"""Putting the questions to a language model: in parallel, within a budget, and none twice."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from assay.retrievers.base import AssayError
from assay.retrievers.contextualisation.plans import CACHE_KIND, ContextPlan, ContextRequest
from assay.retrievers.language_models.answers import AnswerCache, KeptAnswer
from assay.retrievers.language_models.base import LanguageModel
from assay.retrievers.language_models.client import CallSettings, LanguageModelClient, find_prices
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.services.ledger import CallTotals, CostLedger
from assay.retrievers.settings import Resources

LEDGERS = "contexts-ledger"


@dataclass(frozen=True, slots=True)
class ContextOutcome:
    """What is known after a run, by key. `stopped` says why it is not all, if it is not.

    `narrowed` counts the prompts that did not fit and were sent with less of the document. `run`
    and `earlier` are the accounts of this run and of those before it over the same chunks.
    """

    known: Mapping[str, KeptAnswer]
    stopped: str = ""
    narrowed: int = 0
    run: CallTotals = field(default_factory=CallTotals)
    earlier: CallTotals = field(default_factory=CallTotals)


def generate(
    plan: ContextPlan, model: LanguageModel, settings: CallSettings, resources: Resources
) -> ContextOutcome:
    """Ask `model` all that `plan` does not know yet; each answer is kept the moment it arrives.

    Where the run stops early, the calls under way are awaited. Raises AssayError before any call:
    without prices to a budget, without a key or an extra, and while another process is at the same
    work.
    """
    prices = find_prices(model, settings)
    if not plan.requests:
        return ContextOutcome(plan.known)
    path = resources.cache.root / LEDGERS / f"{plan.job}.jsonl"
    answers = AnswerCache(resources.cache, model, CACHE_KIND)
    with CostLedger(path, prices, settings.max_cost_usd) as ledger, model:
        client = LanguageModelClient(model, ledger, settings, answers)
        # The client is left first: it calls the threads back from their waits.
        with ThreadPoolExecutor(client.calls_at_once) as pool, client:
            work = _Generation(plan, model, client)
            asked = work.ask(pool)
            for _ in resources.progress.track(asked, "contexts", len(plan.requests)):
                pass
            known = {**plan.known, **work.known}
            return ContextOutcome(known, client.stopped, work.narrowed, ledger.run, ledger.earlier)


class _Generation:
    """One run over a plan: this thread decides what is asked next, those of a pool ask."""

    def __init__(
        self, plan: ContextPlan, model: LanguageModel, client: LanguageModelClient
    ) -> None:
        self._queue = Queue(plan.requests)
        self._model = model
        self._client = client
        self.known: dict[str, KeptAnswer] = {}
        self.narrowed = 0

    def ask(self, pool: ThreadPoolExecutor) -> Iterator[ContextRequest]:
        """Yield each request once it is answered, until all are, or the client has stopped."""
        asking: dict[Future[KeptAnswer], ContextRequest] = {}
        while True:
            self._send(asking, pool)
            if not asking:
                return
            for future in wait(asking, return_when=FIRST_COMPLETED).done:
                request = asking.pop(future)
                if self._land(request, future):
                    yield request

    def _send(
        self, asking: dict[Future[KeptAnswer], ContextRequest], pool: ThreadPoolExecutor
    ) -> None:
        while len(asking) < self._client.calls_at_once and not self._client.stopped:
            request = self._queue.take()
            if request is None:
                return
            prompt = request.prompt(shared=self._queue.is_shared(request))
            asking[pool.submit(self._client.ask, prompt, request.key)] = request

    def _land(self, request: ContextRequest, future: Future[KeptAnswer]) -> bool:
        """Take the answer to `request`; return whether there is one."""
        try:
            self.known[request.key] = future.result()
        except TooLongError as reason:
            self._narrow(request, reason)
            return False
        except AssayError as error:
            self._client.stop(str(error))
            return False
        self._queue.answered(request)
        return True

    def _narrow(self, request: ContextRequest, reason: TooLongError) -> None:
        narrower = request.narrow()
        if narrower is None:
            chunk = request.chunk_id
            self._client.stop(f"chunk {chunk}: too long for {self._model.name}: {reason}")
        else:
            self.narrowed += 1
            self._queue.give_back(narrower)


class Queue:
    """Requests waiting to be sent.

    The first of a group goes alone, so that the provider's cache holds the document before its
    siblings, which then go before any other group, while the cache lasts.
    """

    def __init__(self, requests: Sequence[ContextRequest]) -> None:
        self._siblings: dict[str, list[ContextRequest]] = {}
        for request in requests:
            self._siblings.setdefault(request.group, []).append(request)
        self._shared = {group for group, members in self._siblings.items() if len(members) > 1}
        self._leads = deque(members.pop(0) for members in self._siblings.values())
        self._ready: deque[ContextRequest] = deque()

    def take(self) -> ContextRequest | None:
        """Return the next request to send, if there is one."""
        if self._ready:
            return self._ready.popleft()
        return self._leads.popleft() if self._leads else None

    def is_shared(self, request: ContextRequest) -> bool:
        """Say whether other requests have the same document."""
        return request.group in self._shared

    def answered(self, request: ContextRequest) -> None:
        """Let the siblings of `request` go."""
        self._ready.extend(self._siblings.pop(request.group, ()))

    def give_back(self, request: ContextRequest) -> None:
        """Put `request` first: it is to be sent again."""
        self._ready.appendleft(request)
