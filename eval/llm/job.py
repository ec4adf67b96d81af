"""Work that asks a language model: its estimated cost, and its results as they come.

A study defines tasks. A task gets `Ask` and returns a result, and may send any number of prompts.
The same tasks run for an estimate, with example answers, and for real.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

from assay.eval.llm.session import LlmSession
from assay.retrievers.base import AssayError, Progress, Quiet
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.language_models.client import LanguageModelClient
from assay.retrievers.language_models.estimates import DryRun
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.services.ledger import CostLedger

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Ask: TypeAlias = Callable[[Prompt], KeptAnswer]
Task: TypeAlias = Callable[[Ask], T]

CUT = "an answer was cut off at --max-tokens"
TOO_LONG = "a prompt is longer than the model can read"
GOES_ON = "what was answered is kept: the same command goes on from there"


def read_answer(ask: Ask, prompt: Prompt) -> tuple[str, str]:
    """Return the answer to `prompt`, and its fault in one phrase, "" for none.

    Raises AssayError if no further call can succeed.
    """
    try:
        answer = ask(prompt)
    except TooLongError:
        return "", TOO_LONG
    if answer.ending == "refusal":
        return "", f"the model refused: {answer.note}"
    return answer.text, CUT if answer.ending == "length" else ""


@dataclass(frozen=True)
class LlmJob(Generic[K, T]):
    """Tasks by key for one language model, within one budget.

    - `what`: names the work in the progress.
    - `about`: identifies its ledger, which has all its calls, among those of other jobs; the
      values are any that a digest is made of.
    - `groups`: tasks of one group share what a provider caches; the first runs before the others.
    """

    session: LlmSession
    tasks: Mapping[K, Task[T]]
    what: str
    about: Sequence[Any]
    groups: Mapping[K, Hashable] = field(default_factory=dict)

    @cached_property
    def ledger(self) -> CostLedger:
        """The account of its calls, over all its runs."""
        return self.session.ledger(*self.about)

    def count(self) -> DryRun:
        """Return the number of known answers, and the estimate for the others. Nothing is asked."""
        counted = self.session.count(cached=bool(self.groups))
        self._run(Asking(counted.ask), lambda *_: None)
        return counted

    def run(self, keep: Callable[[K, T], object] = lambda *_: None) -> dict[K, T]:
        """Return the results of all tasks, in their order; `keep` gets each the moment it is known.

        Kept answers need no key. Raises AssayError if the budget, a missing key or extra, or an
        answer ends it, and while another process is at the same job.
        """
        if not self.tasks:
            return {}
        session = self.session
        client = LanguageModelClient(session.model, self.ledger, session.settings, session.library)
        with self.ledger, session.model, client:
            progress = session.resources.progress
            asking = Asking(client.ask, client.calls_at_once, progress, client)
            try:
                return self._run(asking, keep)
            except AssayError as error:
                kept = f"; {GOES_ON}" if self.ledger.run.calls else ""
                raise AssayError(f"{error}{kept}") from None

    def _run(self, asking: "Asking", keep: Callable[[K, T], object]) -> dict[K, T]:
        found: dict[K, T] = {}
        for key, result in asking.each(self.tasks, self.what, self.groups):
            keep(key, result)
            found[key] = result
        return {key: found[key] for key in self.tasks}


@dataclass
class Asking:
    """A runner of tasks, `at_once` at a time, with the answers of `ask`.

    The calls of `client`, if the answers come from one, are stopped if a task ends it all; those
    under way are awaited.
    """

    ask: Ask
    at_once: int = 1
    progress: Progress = field(default_factory=Quiet)
    client: LanguageModelClient | None = None
    _stopped: str = field(default="", init=False)

    def each(
        self,
        tasks: Mapping[K, Task[T]],
        what: str,
        groups: Mapping[K, Hashable] | None = None,
    ) -> Iterator[tuple[K, T]]:
        """Yield the result of each task the moment it is known, with its key.

        Once a task raised AssayError no other is started; results of tasks under way are still
        yielded, and the first such error is then raised. Other errors are raised at once. Within
        each of `groups`, the first task runs before the others: it fills the provider's cache.
        """
        yield from self.progress.track(self._run(tasks, groups or {}), what, len(tasks))
        if self._stopped:
            raise AssayError(self._stopped)

    def _run(
        self, tasks: Mapping[K, Task[T]], groups: Mapping[K, Hashable]
    ) -> Iterator[tuple[K, T]]:
        queue = _Queue(tasks, groups)
        running: dict[Future[T], K] = {}
        # Threads only end once their calls do: any failure here stops those that wait.
        with ThreadPoolExecutor(self.at_once) as pool:
            try:
                while True:
                    while len(running) < self.at_once and not self._stopped and queue:
                        key = queue.take()
                        running[pool.submit(tasks[key], self.ask)] = key
                    if not running:
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        key = running.pop(future)
                        try:
                            result = future.result()
                        except AssayError as error:
                            self._stop(str(error))
                            continue
                        queue.land(key)
                        yield key, result
            except BaseException:
                self._stop("interrupted")
                raise

    def _stop(self, reason: str) -> None:
        if self.client:
            self.client.stop(reason)
            reason = self.client.stopped  # why others had stopped it, if they had
        self._stopped = self._stopped or reason


class _Queue(Generic[K]):
    """The keys of waiting tasks.

    The first of a group runs alone. The others then run before any other group, while the
    provider's cache lasts.
    """

    def __init__(self, keys: Iterable[K], groups: Mapping[K, Hashable]) -> None:
        self._groups = groups
        self._siblings: dict[Hashable, list[K]] = {}
        self._ready: deque[K] = deque()
        self._leads: deque[K] = deque()
        for key in keys:
            if key not in groups:
                self._ready.append(key)
            elif groups[key] in self._siblings:
                self._siblings[groups[key]].append(key)
            else:
                self._siblings[groups[key]] = []
                self._leads.append(key)

    def __bool__(self) -> bool:
        return bool(self._ready or self._leads)

    def take(self) -> K:
        """Return the next key."""
        return (self._ready or self._leads).popleft()

    def land(self, key: K) -> None:
        """Release the other tasks of the group of `key`."""
        self._ready.extend(self._siblings.pop(self._groups.get(key), ()))
