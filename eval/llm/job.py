"""Work that asks a language model: what it should cost, and its results as they come.

A study says what it asks in tasks. A task gets `Ask` and returns a result, with as many prompts on
its way as it needs. The same tasks run for an estimate, by examples, and for real.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from assay.retrievers.base import AssayError, Progress, Quiet
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.language_models.client import LanguageModelClient
from assay.retrievers.language_models.estimates import Estimate
from assay.retrievers.services.errors import TooLongError

# With what studies count.
__all__ = ["Ask", "Asking", "Estimate", "Forecast", "Task", "read_answer"]

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
E = TypeVar("E", bound=Estimate)
Ask: TypeAlias = Callable[[Prompt], KeptAnswer]
Task: TypeAlias = Callable[[Ask], T]

CUT = "an answer was cut off at --max-tokens"
TOO_LONG = "a prompt is longer than the model can read"
GOES_ON = "the same command goes on from there"


def read_answer(ask: Ask, prompt: Prompt) -> tuple[str, str]:
    """Return the answer to `prompt`, and in one phrase what is wrong with it, "" for nothing.

    Raises AssayError where no further call can succeed.
    """
    try:
        answer = ask(prompt)
    except TooLongError:
        return "", TOO_LONG
    if answer.ending == "refusal":
        return "", f"the model refused: {answer.note}"
    return answer.text, CUT if answer.ending == "length" else ""


@dataclass(frozen=True, slots=True)
class Forecast(Generic[E]):
    """What is to be asked, in words and as JSON values, and what that should cost."""

    what: str
    about: Mapping[str, Any]
    counted: E

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {**self.about, **self.counted.as_json()}


@dataclass
class Asking:
    """Runs tasks, `at_once` at a time, by what `ask` answers.

    `stopped` says why not all was asked, once that is so. The calls of `client`, if the answers
    come from one, are then stopped too; those under way are awaited.
    """

    ask: Ask
    at_once: int = 1
    progress: Progress = field(default_factory=Quiet)
    client: LanguageModelClient | None = None
    stopped: str = field(default="", init=False)

    def each(
        self,
        tasks: Mapping[K, Task[T]],
        what: str,
        groups: Mapping[K, Hashable] | None = None,
    ) -> Iterator[tuple[K, T]]:
        """Yield the result of each task the moment it is known, with its key.

        The first AssayError of a task ends it: what is under way is still yielded, `stopped` says
        why, and nothing is raised. Other errors are. `what` names the work in the progress. Of
        tasks with one of `groups`, the first goes before the others, as it fills the provider's
        cache for them.
        """
        return self.progress.track(self._run(tasks, groups or {}), what, len(tasks))

    def all(self, tasks: Mapping[K, Task[T]], what: str) -> dict[K, T]:
        """Return the results of all tasks, in the order of the tasks.

        Raises AssayError where one ended with it, and says that the others are kept.
        """
        found = dict(self.each(tasks, what))
        if self.stopped:
            raise AssayError(f"{self.stopped}; what was answered is kept: {GOES_ON}")
        return {key: found[key] for key in tasks}

    def _run(
        self, tasks: Mapping[K, Task[T]], groups: Mapping[K, Hashable]
    ) -> Iterator[tuple[K, T]]:
        queue = _Queue(tasks, groups)
        running: dict[Future[T], K] = {}
        # Threads only end once their calls do: whatever happens here stops those that wait.
        with ThreadPoolExecutor(self.at_once) as pool:
            try:
                while True:
                    while len(running) < self.at_once and not self.stopped and queue:
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
        self.stopped = self.stopped or reason


class _Queue(Generic[K]):
    """Keys of tasks that wait.

    The first of a group goes alone. The others then go before any other group, while the
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
        """Let the others of the group of `key` go."""
        self._ready.extend(self._siblings.pop(self._groups.get(key), ()))
