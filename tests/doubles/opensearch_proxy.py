"""A server before OpenSearch's that keeps what is asked, and answers in its place where told to."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self


@dataclass(frozen=True)
class Asked:
    """One request: its number among those of the same method and path, from 0, and its body."""

    method: str
    path: str
    number: int
    body: str
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What is answered, after so many seconds; a string goes out as it is."""

    body: Any
    status: int = 200
    seconds: float = 0.0
    mimetype: str = "application/json"


def fail(status: int, type_: str = "some_exception", reason: str = "told to") -> Reply:
    """Return an error as OpenSearch writes it."""
    cause = {"type": type_, "reason": reason}
    return Reply({"error": {"root_cause": [cause], **cause}, "status": status}, status)


def forward(_: Asked) -> Reply | None:
    return None


@dataclass
class Proxy:
    """Stands before the server at `target`; `answer` says what it answers itself."""

    target: str
    answer: Callable[[Asked], Reply | None] = forward
    asked: list[Asked] = field(default_factory=list)

    def __enter__(self) -> Self:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # one packet an answer: several would wait for each other

            def handle_all(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                proxy.serve(self, self.rfile.read(length))

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = handle_all  # noqa: N815

            def log_message(self, *_: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_: Any) -> None: ...  # who asked has gone

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def searches(self) -> list[Any]:
        """Return the bodies of the searches that were asked."""
        return [asked.json for asked in self.asked if asked.path.endswith("/_search")]

    def serve(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        method, path = str(handler.command), handler.path.split("?")[0]
        number = sum((asked.method, asked.path) == (method, path) for asked in self.asked)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        asked = Asked(method, path, number, body.decode(), headers)
        self.asked.append(asked)
        reply = self.answer(asked) or self._forward(method, handler.path, body)
        time.sleep(reply.seconds)
        content = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        encoded = content.encode()
        handler.send_response(reply.status)
        handler.send_header("Content-Type", reply.mimetype)
        handler.send_header("Content-Length", str(len(encoded)))
        handler.end_headers()
        handler.wfile.write(encoded)

    def _forward(self, method: str, path: str, body: bytes) -> Reply:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.target + path, body or None, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return Reply(response.read().decode(), response.status)
        except urllib.error.HTTPError as error:
            return Reply(error.read().decode(), error.code)
