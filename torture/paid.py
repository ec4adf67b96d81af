"""A language model on this machine that charges nothing and counts what it is asked."""

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECONDS = 0.02  # of an answer, so that kills come between them
KEY = "sk-torture"


class CountingModel(ThreadingHTTPServer):
    """Answers Anthropic's Messages API on a free port of 127.0.0.1."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls: Counter[bytes] = Counter()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"

    def count_repeated(self) -> int:
        """Return how often a question was asked again since this was last called."""
        repeated = self.calls.total() - len(self.calls)
        self.calls.clear()
        return repeated

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: who asked was killed."""

    def server_close(self) -> None:
        """End it."""
        self.shutdown()
        super().server_close()


class _Handler(BaseHTTPRequestHandler):
    server: CountingModel

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.calls[body] += 1
        time.sleep(SECONDS)
        usage = {"input_tokens": 9, "output_tokens": 9, "cache_read_input_tokens": 0}
        told = {
            "content": [{"type": "text", "text": "About the ferry."}],
            "stop_reason": "end_turn",
            "usage": usage | {"cache_creation_input_tokens": 0},
        }
        content = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
