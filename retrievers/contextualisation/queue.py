"""The order in which requests are sent: one of a group first, its siblings once it is answered."""

from collections import deque
from collections.abc import Sequence

from assay.retrievers.contextualisation.plans import ContextRequest


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
