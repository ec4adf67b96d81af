"""Why a call of a service brought nothing."""


class UnansweredError(Exception):
    """A call that may succeed when it is made again.

    `wait` is how many seconds the provider asks to wait. `charged` says that the provider may
    have done the work, `throttled` that it wants fewer calls of everybody, `unreachable` that
    nothing was sent.
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
