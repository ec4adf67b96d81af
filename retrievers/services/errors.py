"""Errors of calls to services."""


class UnansweredError(Exception):
    """A call that may succeed when it is made again.

    - `wait`: the seconds that the provider asks to wait.
    - `charged`: True if the provider may have done the work.
    - `throttled`: True if it wants fewer calls from all callers.
    - `unreachable`: True if nothing was sent.
    """

    def __init__(
        self,
        reason: str,
        *,
        wait: float | None = None,
        charged: bool = False,
        throttled: bool = False,
        unreachable: bool = False,
    ) -> None:
        super().__init__(reason)
        self.wait = wait
        self.charged = charged
        self.throttled = throttled
        self.unreachable = unreachable


class TooLongError(Exception):
    """The prompt exceeds the model's window; nothing was charged."""

    charged = False
