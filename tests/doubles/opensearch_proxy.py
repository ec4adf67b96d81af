"""A server before OpenSearch's that keeps what is asked, and answers in its place where told to."""

import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self
from urllib.parse import urlencode

from doubles.contract_server import Asked, ContractServer, Reply

__all__ = ["Asked", "Proxy", "Reply", "fail"]


def fail(status: int, type_: str = "some_exception", reason: str = "told to") -> Reply:
    """Return an error as OpenSearch writes it."""
    cause = {"type": type_, "reason": reason}
    return Reply({"error": {"root_cause": [cause], **cause}, "status": status}, status)


class Proxy(ContractServer):
    """Stands before the server at `target`; `fault` says what it answers itself."""

    def __init__(
        self, target: str, fault: Callable[[Asked], Reply | None] = lambda _: None
    ) -> None:
        super().__init__(fault=fault)
        self.target = target
        self.open = ExitStack()

    def __enter__(self) -> Self:
        self.open.enter_context(self.serve())
        return self

    def __exit__(self, *_: object) -> None:
        self.open.close()

    def searches(self) -> list[Any]:
        """Return the bodies of the searches that were asked."""
        return [asked.json for asked in self.asked if asked.path.endswith("/_search")]

    def check_key(self, asked: Asked) -> None: ...

    def answer(self, asked: Asked) -> Reply:
        url = f"{self.target}{asked.path}?{urlencode(asked.query)}"
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, asked.body or None, headers, method=asked.method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return Reply(response.read().decode(), response.status)
        except urllib.error.HTTPError as error:
            return Reply(error.read().decode(), error.code)
