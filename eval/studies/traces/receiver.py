"""An endpoint of OTLP over HTTP on this machine, which keeps what is sent in a file."""

import os
import threading
import zlib
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.base.bounds import LINE
from assay.retrievers.base.installation import hint_extra

HOST = "127.0.0.1"
PATH = "/v1/traces"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
IDS = {"traceId", "spanId", "parentSpanId"}
LENGTH = 4  # bytes before each message, as the Collector's file exporter writes it


class TraceReceiver(ThreadingHTTPServer):
    """Takes OTLP's protobuf and JSON on 127.0.0.1 and appends each message to a file.

    `spans` counts those that came; port 0 takes a free one. Raises AssayError for a port that is
    taken, or a file that cannot be written or holds something else.
    """

    daemon_threads = True

    def __init__(self, path: Path, port: int) -> None:
        try:
            from opentelemetry.proto.trace.v1 import trace_pb2  # noqa: F401
        except ImportError:
            raise AssayError(f"traces: {hint_extra('traces')}") from None
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise AssayError(
                f"--port {port}: {error.strerror}; name another that is free, from 1 to 65535"
            ) from None
        self.spans = 0
        self._lock = threading.Lock()
        try:
            self._file = path.open("a+b")
            self._end_whole(path)
        except OSError as error:
            self.server_close()
            raise AssayError(f"{path}: {error.strerror}") from None

    @property
    def address(self) -> str:
        """Where spans are sent."""
        return f"http://{HOST}:{self.server_port}{PATH}"

    def keep(self, message: bytes, spans: int) -> bool:
        """Append a message; it is on the disk when this returns True, and not kept for False."""
        with self._lock:
            if self._file.closed:
                return False
            self._file.write(len(message).to_bytes(LENGTH) + message)
            self._file.flush()
            os.fsync(self._file.fileno())
            self.spans += spans
            return True

    def server_close(self) -> None:
        """Close the port, and the file."""
        super().server_close()
        if hasattr(self, "_file"):
            with self._lock:  # threads of requests may still write
                self._file.close()

    def _end_whole(self, path: Path) -> None:
        """Cut off a message that a killed process left unfinished."""
        size = self._file.seek(0, os.SEEK_END)
        place = 0
        while place < size:
            self._file.seek(place)
            length = int.from_bytes(self._file.read(LENGTH))
            if length > LINE:
                raise AssayError(f"{path}: is there already, and was not written by this command")
            if place + LENGTH + length > size:
                if place:
                    self._file.truncate(place)
                break
            place += LENGTH + length
        if size and not place:
            raise AssayError(f"{path}: is there already, and was not written by this command")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: TraceReceiver
    timeout = 60

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip()
        if not length.isdecimal() or len(length) > len(str(LINE)) or int(length) > LINE:
            self.close_connection = True
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        body = self.rfile.read(int(length))
        if self.path != PATH:
            self._send(HTTPStatus.NOT_FOUND)
        elif kind not in (PROTOBUF, JSON):  # no page of another site may send these unasked
            self._send(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        else:
            try:
                packed = self.headers.get("Content-Encoding") == "gzip"
                message, spans = _read(_unpack(body) if packed else body, kind)
            except (ValueError, TypeError, AttributeError, RecursionError, zlib.error):
                self._send(HTTPStatus.BAD_REQUEST)
                return
            if self.server.keep(message, spans):
                self._send(HTTPStatus.OK, b"{}" if kind == JSON else b"", kind)
            else:
                self._send(HTTPStatus.SERVICE_UNAVAILABLE)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _send(self, status: HTTPStatus, body: bytes = b"", kind: str = PROTOBUF) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _unpack(body: bytes) -> bytes:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    content = unpacker.decompress(body, LINE)
    if not unpacker.eof:  # it is longer, or is cut off
        raise ValueError
    return content


def _read(body: bytes, kind: str) -> tuple[bytes, int]:
    """Return a message in protobuf, and the number of its spans. Raises ValueError."""
    import json

    from google.protobuf.json_format import ParseDict, ParseError
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    try:
        if kind == JSON:
            message = ParseDict(_encode_ids(json.loads(body)), TracesData(), True)
        else:
            message = TracesData.FromString(body)
    except (DecodeError, ParseError) as error:
        raise ValueError from error
    count = sum(len(scope.spans) for batch in message.resource_spans for scope in batch.scope_spans)
    return message.SerializeToString(), count


def _encode_ids(value: Any) -> Any:
    """Return OTLP's JSON, whose ids are hexadecimal, as protobuf's, whose bytes are base64."""
    from base64 import b64encode

    if isinstance(value, list):
        return [_encode_ids(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: b64encode(bytes.fromhex(item)).decode()
        if key in IDS and isinstance(item, str)
        else _encode_ids(item)
        for key, item in value.items()
    }
