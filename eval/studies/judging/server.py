"""An HTTP server for the judging page, on this machine only and for one person.

A request must contain the token: it is in the first address, and afterwards in a cookie that no
other site can make the browser send here. Cookies are not bound to a port: other servers on
127.0.0.1 that the same browser opens receive it too. `Host` must be this machine, as a protection
against DNS rebinding, and `Origin` the page itself for every request that writes.
"""

import json
import secrets
import sys
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from assay.eval.studies.judging.annotation_session import AnnotationSession
from assay.retrievers.base import AssayError

HOST = "127.0.0.1"
LONGEST = 64 * 1024  # bytes of a request
DIGITS = len(str(LONGEST))  # int() refuses thousands of them
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class JudgingServer(ThreadingHTTPServer):
    """A server of the page of a session on 127.0.0.1; port 0 picks a free port.

    Raises AssayError if the port is in use.
    """

    def __init__(self, session: AnnotationSession, port: int) -> None:
        self.session = session
        self.token = secrets.token_urlsafe(24)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise AssayError(
                f"--port {port}: {error.strerror}; name another that is free, from 1 to 65535"
            ) from None
        self.cookie = f"assay_label_{self.server_port}"  # cookies are not bound to a port
        self.hosts = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}
        self.page = session.page.encode()

    @property
    def address(self) -> str:
        """The address that opens the page, with the token in it."""
        return f"http://{HOST}:{self.server_port}/?token={self.token}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing if the browser closed the connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: JudgingServer
    timeout = 60

    def do_GET(self) -> None:
        try:
            address = urlsplit(self.path)
        except ValueError:
            self._refuse(HTTPStatus.BAD_REQUEST, "this is no address")
            return
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        if not self._may_ask(query.get("token", "") if address.path == "/" else ""):
            return
        if address.path == "/":
            cookie = f"{self.server.cookie}={self.server.token}; Path=/; HttpOnly; SameSite=Strict"
            self._send(HTTPStatus.OK, self.server.page, "text/html", {"Set-Cookie": cookie})
        elif read := self.server.session.reads.get(address.path):
            self._answer(partial(read, query))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")

    def do_POST(self) -> None:
        if not self._may_ask(""):
            return
        origin = self.headers.get("Origin", "")
        if origin not in {f"http://{host}" for host in self.server.hosts}:
            self._refuse(HTTPStatus.FORBIDDEN, "only the page itself may write")
        elif (way := self.server.session.writes.get(self.path)) is None:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing to write to here")
        elif (given := self._read_object()) is not None:
            self._answer(partial(way, given))

    def _may_ask(self, token: str) -> bool:
        """Return True if the request comes from this machine's page; otherwise refuse it."""
        if self.headers.get("Host", "") not in self.server.hosts:
            self._refuse(HTTPStatus.FORBIDDEN, "this page is of this machine alone")
        elif not self._knows(token) and not self._knows(self._read_cookie()):
            self._refuse(
                HTTPStatus.FORBIDDEN, "open the address that `assay label --serve` printed"
            )
        else:
            return True
        return False

    def _knows(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self.server.token.encode())

    def _read_cookie(self) -> str:
        # Parsed by hand: SimpleCookie drops all cookies if one of them is malformed.
        for part in self.headers.get("Cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.server.cookie:
                return value
        return ""

    def _read_object(self) -> dict[str, Any] | None:
        """Return the JSON object in the request; refuse anything else."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "only JSON is taken")
        elif not length.isascii() or not length.isdigit():
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "the length must be said")
        elif len(length) > DIGITS or int(length) > LONGEST:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {LONGEST} bytes")
        else:
            try:
                given = json.loads(self.rfile.read(int(length)))
            except (ValueError, RecursionError):
                given = None
            if isinstance(given, dict):
                return given
            self._refuse(HTTPStatus.BAD_REQUEST, "a JSON object must be sent")
        return None

    def _answer(self, ask: Callable[[], dict[str, Any]]) -> None:
        try:
            body = json.dumps(ask()).encode()
        except AssayError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        else:
            self._send(HTTPStatus.OK, body, "application/json")

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self.close_connection = True  # the body may still be unread
        self._send(status, json.dumps({"error": reason}).encode(), "application/json")

    def _send(
        self, status: HTTPStatus, body: bytes, kind: str, more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        for name, value in (HEADERS | (more or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: object) -> None:
        """Print nothing: the first address contains the token."""
