"""A server before OpenSearch's that keeps what is asked, and answers in its place where told to."""

import urllib.error
import urllib.request
from contextlib import ExitStack
from urllib.parse import urlencode

from doubles.contract_server import Asked, ContractServer, Reply

__all__ = ["Asked", "Proxy", "Reply", "fail"]


def fail(status, type_="some_exception", reason="told to"):
    """Return an error as OpenSearch writes it."""
    cause = {"type": type_, "reason": reason}
    return Reply({"error": {"root_cause": [cause], **cause}, "status": status}, status)


class Proxy(ContractServer):
    """Stands before the server at `target`; `fault` says what it answers itself."""

    def __init__(self, target, fault=lambda _: None):
        super().__init__(fault=fault)
        self.target = target
        self.open = ExitStack()

    def __enter__(self):
        self.open.enter_context(self.serve())
        return self

    def __exit__(self, *_):
        self.open.close()

    def searches(self):
        """Return the bodies of the searches that were asked."""
        return [asked.json for asked in self.asked if asked.path.endswith("/_search")]

    def check_key(self, asked): ...

    def answer(self, asked):
        url = f"{self.target}{asked.path}?{urlencode(asked.query)}"
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, asked.body or None, headers, method=asked.method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return Reply(response.read().decode(), response.status)
        except urllib.error.HTTPError as error:
            return Reply(error.read().decode(), error.code)
