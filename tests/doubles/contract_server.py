"""Local servers that keep the contract of a vendor's service over real HTTP.

One is written from the vendor's reference: it refuses what that does not allow, answers as that
says, and misbehaves where told to.
"""

import json
import math
import re
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import ThreadingTCPServer
from threading import Lock, Thread
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import numpy as np

Scores = list[tuple[Any, float]]
HTML = {"Content-Type": "text/html"}


@dataclass(frozen=True)
class Asked:
    """One request, and its number among those of the same method and path, from 0."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    number: int = 0

    @property
    def json(self):
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What is answered after so many seconds; a string goes out as it is, `half` of it if told."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    half: bool = False

    @property
    def content(self):
        if self.body is None:
            return b""
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


class RefusedError(Exception):
    """The service refuses a request: its status, and why."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


@dataclass
class ContractServer(ABC):
    """A service with the key `secret`; `fault` says what is answered in its place."""

    key = "s3cret-key"
    late: ClassVar[float] = 0.6  # seconds after which nobody waits for an answer
    indexes: ClassVar[Any]  # by name, each with its documents by their ids
    key_header: ClassVar[str] = ""
    asked: list[Asked] = field(default_factory=list)
    fault: Callable[[Asked], Reply | None] = lambda _: None
    # Of so many counts each tells too few.
    uncounted: int = 0
    lock: Lock = field(default_factory=Lock)
    url: str = ""

    @abstractmethod
    def answer(self, asked):
        """Return what the reference says of a request. Raises RefusedError."""

    def refuse(self, refused):
        """Return an error as the service writes it."""
        return self.fail(refused.status, str(refused))

    def fail(self, status, said):
        """Return an error of a status, by code and message or by type and reason."""
        cause = {"code": "x", "message": said, "type": "x", "reason": said}
        wait = {"Retry-After": "0.1", "x-ms-retry-after-ms": "100"} if status == 429 else {}
        error = {"error": cause, "status": status, "code": "x", "message": said}
        return Reply(error, status, wait)

    def misbehave(self, kind, said, asked):
        """Return what is answered in a bad way: of a status, late, by half, or as no server does.

        With `unheard` what is asked is done, and the answer comes too late.
        """
        match kind:
            case "unheard":
                self.answer(asked)
                return Reply({}, seconds=self.late)
            case "late":
                return Reply({}, seconds=self.late)
            case "half":
                return Reply({"value": ["x"] * 99}, half=True)
            case "garbage":
                return Reply("<html>")
        return self.fail(int(kind), said)

    @property
    def kept(self):
        """The names of what is there."""
        return set(self.indexes)

    def lose_a_text(self):
        (index,) = self.indexes.values()
        del index.documents[min(index.documents)]

    def find_note(self):
        """Return what holds the only note, and the note's key there."""
        (index,) = self.indexes.values()
        return index.made, "description"

    def rewrite_note(self, old, new):
        """Put something else into the only note."""
        holder, key = self.find_note()
        assert old in holder[key]
        holder[key] = holder[key].replace(old, new)

    def name(self, asked):
        """Return what kind of request it is."""
        return f"{asked.path} {asked.method}"

    def lag(self, count):
        """Return what is told of a count: too little, for as long as `uncounted` says."""
        if self.uncounted and count:
            self.uncounted -= 1
            return count - 1
        return count

    def _handle(self, asked, act=None):
        """Return the reply to a request, or what `act` makes of it."""
        with self.lock:
            same = (asked.method, asked.path)
            number = sum((it.method, it.path) == same for it in self.asked)
            asked = replace(asked, number=number)
            self.asked.append(asked)
            if (reply := self.fault(asked)) is not None:
                return reply
            try:
                self.check_key(asked)
                return (act or self.answer)(asked)
            except RefusedError as refused:
                return self.refuse(refused)

    def check_key(self, asked):
        require(asked.headers.get(self.key_header) == self.key, "invalid key", 401)

    @contextmanager
    def serve(self):
        """Serve on a free port, whose address is given."""
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def handle_all(self):
                parts = urlsplit(self.path)
                reply = double._handle(
                    Asked(
                        str(self.command),
                        parts.path,
                        {name: values[0] for name, values in parse_qs(parts.query).items()},
                        {name.lower(): value for name, value in self.headers.items()},
                        self.rfile.read(int(self.headers.get("Content-Length") or 0)),
                    )
                )
                time.sleep(reply.seconds)
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                if reply.status != 204:
                    self.send_header("Content-Length", str(len(reply.content)))
                self.end_headers()
                self.close_connection |= reply.half
                self.wfile.write(reply.content[: len(reply.content) // (2 if reply.half else 1)])

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = handle_all  # noqa: N815

            def log_message(self, *_): ...

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_): ...  # who asked has gone

        server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield self.url
        finally:
            server.shutdown()
            server.server_close()


@contextmanager
def serve_tcp(handler, scheme):
    """Serve connections by `handler` on a free port, whose address is given."""

    class Server(ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False
        allow_reuse_address = True

        def handle_error(self, *_): ...  # who asked has gone

    with Server(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"{scheme}://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def require(holds, reason, status=400):
    """Raise RefusedError where something does not hold."""
    if not holds:
        raise RefusedError(status, reason)


def only(given, *allowed):
    """Raise RefusedError where a body has other keys."""
    require(given.keys() <= set(allowed), f"unknown: {sorted(given.keys() - set(allowed))}")


def tokenize(text):
    """Return the words of a text in lower case."""
    return re.findall(r"[^\W_]+", text.lower())


@cache
def count_words(text):
    return Counter(tokenize(text))


def rank_words(texts, query, k1=1.2, b=0.75):
    """Return the texts that share words with the query and their BM25 scores, best first."""
    counts = {name: count_words(text) for name, text in texts.items()}
    mean = sum(map(Counter.total, counts.values())) / max(len(counts), 1)
    scores = Counter()
    for word in dict.fromkeys(tokenize(query)):
        holders = [name for name, words in counts.items() if words[word]]
        idf = math.log(1 + (len(counts) - len(holders) + 0.5) / (len(holders) + 0.5))
        for name in holders:
            often, length = counts[name][word], counts[name].total()
            scores[name] += idf * often * (k1 + 1) / (often + k1 * (1 - b + b * length / mean))
    return sorted(scores.items(), key=lambda pair: -pair[1])


def rank_vectors(vectors, query):
    """Return all texts with their cosine, greatest first."""
    if not vectors:
        return []
    matrix = np.array(list(vectors.values()))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    cosines = matrix @ (np.array(query) / np.linalg.norm(query))
    order = np.argsort(-cosines, kind="stable")
    names = list(vectors)
    return [(names[i], float(cosines[i])) for i in order]


def rank(found, constant=60.0):
    """Return what each of a list adds by its rank, ranks from 1."""
    return [(key, 1 / (constant + i)) for i, (key, _) in enumerate(found, start=1)]


def scale(found):
    """Scale scores to their range; those that are all equal become 1."""
    scores = [score for _, score in found]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(key, (score - low) / (high - low) if high > low else 1.0) for key, score in found]


def add_up(lists, weights=(1.0, 1.0)):
    """Return the weighted sum of scores in 32 bits, greatest first, equal ones by key."""
    scores = defaultdict(lambda: np.float32(0))
    for found, weight in zip(lists, weights, strict=True):
        for key, score in found:
            scores[key] += np.float32(weight * score)
    pairs = [(key, float(score)) for key, score in scores.items()]
    return sorted(pairs, key=lambda pair: (-pair[1], len(str(pair[0])), str(pair[0])))
