"""The order in which requests are sent: one of a group first, its siblings once it is answered."""

import heapq
import time
from collections import deque
from collections.abc import Sequence

from retrievers.contextualisation.plans import Request


class Queue:
    """Requests waiting to be sent.

    The first of a group goes alone, so that the provider's cache holds the document before its
    siblings, which then go before any other group, while the cache lasts.
    """

    def __init__(self, requests: Sequence[Request]) -> None:
        self._siblings: dict[str, list[Request]] = {}
        for request in requests:
            self._siblings.setdefault(request.group, []).append(request)
        self._shared = {group for group, members in self._siblings.items() if len(members) > 1}
        self._leads = deque(members.pop(0) for members in self._siblings.values())
        self._ready: deque[Request] = deque()
        self._delayed: list[tuple[float, int, Request]] = []
        self._number = 0
        self._held_until = 0.0

    def __bool__(self) -> bool:
        """Whether anything can be sent, now or after a wait."""
        return bool(self._leads or self._ready or self._delayed)

    def take(self) -> Request | None:
        """Return the next request to send now, if there is one."""
        now = time.monotonic()
        if now < self._held_until:
            return None
        while self._delayed and self._delayed[0][0] <= now:
            self._ready.append(heapq.heappop(self._delayed)[2])
        if self._ready:
            return self._ready.popleft()
        return self._leads.popleft() if self._leads else None

    def is_shared(self, request: Request) -> bool:
        """Say whether other requests have the same document."""
        return request.group in self._shared

    def answered(self, request: Request) -> None:
        """Let the siblings of `request` go."""
        self._ready.extend(self._siblings.pop(request.group, ()))

    def give_back(self, request: Request) -> None:
        """Put `request` first again: it was not sent."""
        self._ready.appendleft(request)

    def delay(self, request: Request, seconds: float, *, everything: bool) -> None:
        """Send `request` again after so many seconds; `everything` else waits as long."""
        due = time.monotonic() + seconds
        self._number += 1
        heapq.heappush(self._delayed, (due, self._number, request))
        if everything:
            self._held_until = max(self._held_until, due)

    def seconds_to_next(self) -> float | None:
        """Return how long nothing can be sent for, or None if that is not a matter of time."""
        now = time.monotonic()
        if now < self._held_until:
            return self._held_until - now
        return max(0.0, self._delayed[0][0] - now) if self._delayed else None
