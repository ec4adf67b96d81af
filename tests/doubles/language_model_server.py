"""A server on this machine that speaks the APIs of Anthropic and OpenAI, with their faults."""

import json
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test-0123456789abcdef"
OUTPUT = 10  # tokens of each answer


@dataclass(frozen=True)
class Call:
    """One request as it came: its number from 0, how often the same was asked before, its body."""

    number: int
    before: int
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def texts(self):
        """The texts of the user's message, as they are ordered."""
        content = self.body["messages"][0]["content"]
        return [content] if isinstance(content, str) else [part["text"] for part in content]

    @property
    def pair(self):
        """The document and the chunk that are asked about; of other questions all, and nothing."""
        text = "\n".join(self.texts)
        if "<chunk>" not in text:
            return text, ""
        document = text.split("<document>\n", 1)[1].split("\n</document>", 1)[0]
        chunk = text.rsplit("<chunk>\n", 1)[1].split("\n</chunk>", 1)[0]
        return document, chunk


@dataclass(frozen=True)
class Status:
    """An error status."""

    code: int
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "told to"
    kind: str = "error"


@dataclass(frozen=True)
class Body:
    """An answer of these bytes; with `pause` one every so many seconds."""

    content: bytes
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0


@dataclass(frozen=True)
class Hang:
    """No answer for so long; then the usual one."""

    seconds: float


@dataclass(frozen=True)
class Drop:
    """A connection that breaks, in the middle of the answer if `half`."""

    half: bool = False


@dataclass(frozen=True)
class Say:
    """An answer of this text and stop reason."""

    text: str
    reason: str = ""


Reaction = Status | Body | Hang | Drop | Say | None


class LanguageModelServer:
    """Answers every call with a line about its chunk, unless `react` returns something else.

    Tokens are counted as bytes // 4. What is marked for the cache is written at the first answer
    and read by calls that come after it.
    """

    def __init__(self, react=lambda call: None):
        self.react = react
        self.calls = []
        self.answered = Counter()
        self.most_at_once = 0
        self.usages = []
        self._at_once = 0
        self._cached = set()
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else the body waits for the headers to be received

            def log_message(self, *args):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer._serve(self, body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, handler, body):
        with self._lock:
            before = sum(call.body == body for call in self.calls)
            headers = {name.lower(): value for name, value in handler.headers.items()}
            call = Call(len(self.calls), before, handler.path, headers, body)
            self.calls.append(call)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            self._answer(handler, call)
        except OSError:  # the client has gone
            pass
        finally:
            with self._lock:
                self._at_once -= 1

    def _answer(self, handler, call):
        reaction = self.react(call)
        if isinstance(reaction, Hang):
            time.sleep(reaction.seconds)
            reaction = None
        if isinstance(reaction, Drop):
            if reaction.half:
                handler.send_response(200)
                handler.send_header("content-length", "1000")
                handler.end_headers()
                handler.wfile.write(b'{"id":')
                handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return
        if isinstance(reaction, Status):
            error = {"type": reaction.kind, "code": reaction.kind, "message": reaction.message}
            content = json.dumps({"type": "error", "error": error}).encode()
            self._send(handler, reaction.code, content, reaction.headers)
            return
        if isinstance(reaction, Body):
            if reaction.pause:
                self._send(handler, 200, b"", {"transfer-encoding": "chunked"})
                for byte in reaction.content:
                    handler.wfile.write(b"1\r\n%c\r\n" % byte)
                    time.sleep(reaction.pause)
            self._send(handler, 200, reaction.content, reaction.headers)
            return
        self._send(handler, *self._reply(call, reaction), {})

    def _reply(self, call, reaction):
        """Return the status and the body of an answer."""
        said = reaction or Say(f"About {call.pair[1].split()[0]}.")
        speak = self._anthropic if call.path == "/v1/messages" else self._openai
        with self._lock:
            content = json.dumps(speak(call, said)).encode()
            self.answered[call.pair] += 1
        return 200, content

    def _send(self, handler, code, content, headers):
        handler.send_response(code)
        handler.send_header("content-type", "application/json")
        if content:
            handler.send_header("content-length", str(len(content)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)

    def _anthropic(self, call, said):
        parts = call.body["messages"][0]["content"]
        usage = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        for part in parts:
            kind = "input_tokens"
            if "cache_control" in part:
                known = part["text"] in self._cached
                kind = "cache_read_input_tokens" if known else "cache_creation_input_tokens"
                self._cached.add(part["text"])
            usage[kind] += len(part["text"].encode()) // 4
        usage["output_tokens"] = OUTPUT
        self.usages.append(usage)
        content = [{"type": "text", "text": said.text}] if said.text else []
        return {
            "id": f"msg_{call.number}",
            "type": "message",
            "role": "assistant",
            "model": call.body["model"],
            "content": content,
            "stop_reason": said.reason or "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }

    def _openai(self, call, said):
        document = call.pair[0]
        cached = len(document.encode()) // 4 if document in self._cached else 0
        self._cached.add(document)
        prompt = sum(len(text.encode()) // 4 for text in call.texts)
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": OUTPUT,
            "total_tokens": prompt + OUTPUT,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        message = {"role": "assistant", "content": said.text, "refusal": None}
        return {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion",
            "created": 0,
            "model": call.body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": said.reason or "stop"}],
            "usage": usage,
        }
