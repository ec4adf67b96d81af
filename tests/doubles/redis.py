"""A server that keeps the contract of Redis' query engine.

Written from the reference of commands (redis.io/docs/latest/commands: "FT.CREATE", "FT.SEARCH",
"FT.HYBRID", "FT.INFO") and of the protocol (redis.io/docs/latest/develop/reference/protocol-spec).
Searches are exact, no analyzer stems, and no word is a stop word.
"""

import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from socketserver import StreamRequestHandler
from threading import Lock

import numpy as np
from doubles.contract_server import (
    RefusedError,
    add_up,
    rank,
    rank_vectors,
    rank_words,
    require,
    serve_tcp,
)

WORDS = re.compile(r"@text:\(([^\W_]+(?:\|[^\W_]+)*)\)")
NEAR = re.compile(r"\*=>\[KNN (\d+) @vector \$vector(?: EF_RUNTIME \d+)? AS far\]")
PASSWORD = "s3cret-key"


@dataclass
class Index:
    dimensions: int
    documents: dict[str, dict[str, bytes]] = field(default_factory=dict)


@dataclass(frozen=True)
class Said:
    """What is answered in place of the truth, after so many seconds; None hangs up half-way."""

    line: str | None
    seconds: float = 0.0


@dataclass
class RedisDouble:
    """A server whose query engine has a version, or of version 0 none."""

    version: int = 80400
    indexes: dict[str, Index] = field(default_factory=dict)
    hashes: dict[str, dict[bytes, bytes]] = field(default_factory=lambda: defaultdict(dict))
    asked: list[list[str]] = field(default_factory=list)
    fault: Callable[[list[str]], Said | None] = lambda _: None
    # Of so many counts each tells too few.
    uncounted: int = 0
    warnings: tuple[str, ...] = ()
    lock: Lock = field(default_factory=Lock)

    key = PASSWORD

    def name(self, asked):
        return " ".join(asked)

    def misbehave(self, kind, said, asked):
        """Return what is answered in a bad way, as those of vendors do."""
        match kind:
            case "unheard":
                self.answer([part.encode() for part in asked], {"known": True})
                return Said("+OK\r\n", seconds=0.6)
            case "late":
                return Said("+OK\r\n", seconds=0.6)
            case "half":
                return Said(None)
            case "garbage":
                return Said("*1\r\n+what\r\n")
        code = {"429": "ERR", "503": "LOADING", "500": "OOM"}[kind]
        return Said(f"-{code} {said}\r\n")

    @property
    def kept(self):
        """The names of what is there."""
        return {name.decode() for name in self.hashes["assay:notes"]} | set(self.indexes)

    def lose_a_text(self):
        (index,) = self.indexes.values()
        del index.documents["0"]

    def rewrite_note(self, old, new):
        notes = self.hashes["assay:notes"]
        ((name, note),) = notes.items()
        assert old.encode() in note
        notes[name] = note.replace(old.encode(), new.encode())

    def answer(self, parts, session):
        """Return the answer to a command. Raises RefusedError with the whole of an error."""
        told = [part.decode(errors="replace") for part in parts]
        if told[0] == "AUTH":
            session["known"] = told[-1] == PASSWORD
            require(session["known"], "WRONGPASS invalid username-password pair")
            return "OK"
        require(session.get("known"), "NOAUTH Authentication required.")
        match told:
            case ["CLIENT", *_]:
                return "OK"
            case ["MODULE", "LIST"]:
                return [["name", "search", "ver", self.version]] if self.version else []
            case ["HGETALL", key]:
                return [part for pair in self.hashes[key].items() for part in pair]
            case ["HSET", key, *_]:
                return self._set(key, parts[2:])
            case ["HDEL", key, name]:
                return int(self.hashes[key].pop(name.encode(), None) is not None)
        kind, name = told[0], told[1]
        if kind == "FT.CREATE":
            return self._create(name, told)
        require(name in self.indexes, f"{name}: no such index")
        index = self.indexes[name]
        match kind:
            case "FT.DROPINDEX":
                require(told[2:] == ["DD"], "unknown argument")
                del self.indexes[name]
                return "OK"
            case "FT.INFO":
                late = bool(self.uncounted and index.documents)
                self.uncounted -= late
                return ["num_docs", len(index.documents) - late, "hash_indexing_failures", 0]
            case "FT.SEARCH":
                return self._search(index, told, parts)
            case "FT.HYBRID" if self.version >= 80400:
                return self._fuse(index, told, parts)
        raise RefusedError(0, f"ERR unknown command '{kind}'")

    def _set(self, key, fields):
        values = dict(zip(fields[::2], fields[1::2], strict=True))
        name, _, position = key.rpartition(":")
        if name in self.indexes:
            row = {field.decode(): value for field, value in values.items()}
            require(len(row["vector"]) == 4 * self.indexes[name].dimensions, "ERR vector")
            self.indexes[name].documents[position] = row
        else:
            self.hashes[key] |= values
        return len(values)

    def _create(self, name, told):
        require(name not in self.indexes, "Index already exists")
        given = " ".join(told[2:])
        shape = (
            rf"ON HASH PREFIX 1 {name}: LANGUAGE english SCHEMA text TEXT vector VECTOR "
            r"(?:FLAT 6|HNSW 10) TYPE FLOAT32 DIM (\d+) DISTANCE_METRIC COSINE"
            r"(?: M \d+ EF_CONSTRUCTION \d+)?"
        )
        found = re.fullmatch(shape, given)
        if found is None:
            raise RefusedError(0, f"ERR cannot parse {given}")
        self.indexes[name] = Index(int(found[1]))
        return "OK"

    def _search(self, index, told, parts):
        require(told[-2:] == ["DIALECT", "2"], "ERR dialect")
        limit = int(told[told.index("LIMIT") + 2])
        name = told[1]
        if near := NEAR.fullmatch(told[2]):
            found = self._near(index, parts)[: min(int(near[1]), limit)]
            rows = [(key, ["far", str(1 - cosine)]) for key, cosine in found]
        else:
            require({"WITHSCORES", "NOCONTENT", "BM25STD"} <= set(told), "ERR not asked so here")
            rows = [(key, str(score)) for key, score in _match(index, told[2])[:limit]]
        return [len(rows), *(part for key, told_ in rows for part in (f"{name}:{key}", told_))]

    def _fuse(self, index, told, parts):
        require("DIALECT" not in told, "DIALECT is not supported in FT.HYBRID")
        require(told[2] == "SEARCH" and told[6:10] == ["VSIM", "@vector", "$vector", "KNN"], "ERR")
        i = told.index("COMBINE")
        count = int(told[i + 2])
        how = told[i + 3 : i + 3 + count]
        options = dict(zip(how[::2], map(float, how[1::2]), strict=True))
        window, limit = int(options["WINDOW"]), int(told[told.index("LIMIT") + 2])
        words = _match(index, told[3])[:window]
        near = [(key, (1 + cosine) / 2) for key, cosine in self._near(index, parts)]
        lists = [words, near[: min(window, int(told[told.index("K") + 1]))]]
        if told[i + 1] == "RRF":
            scores = add_up([rank(found, options["CONSTANT"]) for found in lists])
        else:
            scores = add_up(lists, (options["ALPHA"], options["BETA"]))
        results = [
            ["__key", f"{told[1]}:{key}", "__score", str(score)] for key, score in scores[:limit]
        ]
        return ["total_results", len(scores), "results", results, "warnings", list(self.warnings)]

    def _near(self, index, parts):
        query = np.frombuffer(parts[parts.index(b"PARAMS") + 3], "<f4")
        require(len(query) == index.dimensions, "ERR the vector does not match the dimensions")
        vectors = {key: np.frombuffer(row["vector"], "<f4") for key, row in index.documents.items()}
        return rank_vectors({key: it.tolist() for key, it in vectors.items()}, query.tolist())

    def serve(self):
        """Serve on a free port, whose address is given."""
        double = self

        class Handler(StreamRequestHandler):
            def handle(self):
                session = {}
                while line := self.rfile.readline():
                    parts = [self._read() for _ in range(int(line[1:]))]
                    told = [part.decode(errors="replace") for part in parts]
                    with double.lock:
                        double.asked.append(told)
                        said = double.fault(told)
                    if said is not None:
                        time.sleep(said.seconds)
                        self.wfile.write((said.line or "*9\r\n$4\r\nhal").encode())
                        if said.line is None:
                            return
                        continue
                    try:
                        with double.lock:
                            reply = encode(double.answer(parts, session))
                    except RefusedError as refused:
                        reply = f"-{refused}\r\n".encode()
                    self.wfile.write(reply)

            def _read(self):
                length = int(self.rfile.readline()[1:])
                return self.rfile.read(length + 2)[:-2]

        return serve_tcp(Handler, "redis")


def encode(value):
    """Return a value as version 2 of the protocol writes it."""
    if isinstance(value, list):
        return b"*%d\r\n" % len(value) + b"".join(map(encode, value))
    if isinstance(value, int):
        return b":%d\r\n" % value
    if value == "OK":
        return b"+OK\r\n"
    data = value if isinstance(value, bytes) else str(value).encode()
    return b"$%d\r\n%b\r\n" % (len(data), data)


def _match(index, query):
    found = WORDS.fullmatch(query)
    if found is None:
        raise RefusedError(0, f"Syntax error at offset 0 near {query}")
    texts = {key: row["text"].decode() for key, row in index.documents.items()}
    return rank_words(texts, found[1].replace("|", " "))
