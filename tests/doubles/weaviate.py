"""A server that speaks Weaviate's REST and gRPC, with the stubs that its client ships.

What it answers is worked out in the plainest way over the objects it was given, as Weaviate's
documents and source state it. It serves tests of the adapter, not figures.

    python -m doubles.weaviate    # prints address and gRPC port, and serves until it is killed
"""

import json
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Collection as Names
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any
from uuid import UUID

import grpc
import numpy as np
from weaviate.proto.v1 import aggregate_pb2, batch_pb2, search_get_pb2

SERVICE = "weaviate.v1.Weaviate"
LEAST_CANDIDATES = 100  # QUERY_HYBRID_MAXIMUM_RESULTS
STOP_WORDS = {
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
}  # fmt: skip
Scores = list[tuple[str, float]]


@dataclass(frozen=True)
class Call:
    """A gRPC call: its method, its number among those of the same method, from 0."""

    method: str
    number: int
    request: Any


@dataclass(frozen=True)
class Fault:
    """What is answered instead: a status, or bytes, after so many seconds."""

    status: grpc.StatusCode | None = None
    content: bytes = b""
    seconds: float = 0.0


@dataclass
class Collection:
    schema: dict[str, Any]
    texts: dict[str, str] = field(default_factory=dict)
    vectors: dict[str, Any] = field(default_factory=dict)

    def allow(self, asked: Any) -> Names[str]:
        """Return the identifiers that meet a request's filter."""
        if not asked.HasField("filters"):
            return self.texts.keys()
        given = asked.filters
        assert given.target.property == "_id"
        listed = set(given.value_text_array.values)
        if given.operator == given.OPERATOR_CONTAINS_NONE:
            return self.texts.keys() - listed
        assert given.operator == given.OPERATOR_CONTAINS_ANY
        return self.texts.keys() & listed

    def near(self, vector: Any, limit: int, allowed: Names[str]) -> Scores:
        """Return identifiers with their cosine distances, nearest first."""
        if not self.vectors:
            return []
        names, matrix = list(self.vectors), np.stack(list(self.vectors.values()))
        if matrix.shape[1] != len(vector):
            raise ValueError("vector lengths don't match")
        matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        distances = 1 - matrix @ (vector / np.linalg.norm(vector))
        order = np.argsort(distances, kind="stable")
        found = [(names[i], float(distances[i])) for i in order if names[i] in allowed]
        return found[:limit]

    def bm25(self, query: str, limit: int, allowed: Names[str]) -> Scores:
        """Return identifiers with their BM25 scores, best first."""
        bm25 = self.schema["invertedIndexConfig"]["bm25"]
        stop = self.schema["invertedIndexConfig"]["stopwords"]["preset"] == "en"
        counts = {name: Counter(tokenize(text)) for name, text in self.texts.items()}
        mean = sum(sum(terms.values()) for terms in counts.values()) / max(len(counts), 1)
        scores: Counter[str] = Counter()
        for term in set(tokenize(query)) - (STOP_WORDS if stop else set()):
            holders = [name for name, terms in counts.items() if term in terms]
            idf = math.log(1 + (len(counts) - len(holders) + 0.5) / (len(holders) + 0.5))
            for name in holders:
                often, length = counts[name][term], sum(counts[name].values())
                norm = bm25["k1"] * (1 - bm25["b"] + bm25["b"] * length / mean)
                scores[name] += idf * often * (bm25["k1"] + 1) / (often + norm)
        found = [pair for pair in scores.items() if pair[0] in allowed]
        return sorted(found, key=lambda pair: -np.float32(pair[1]))[:limit]

    def hybrid(self, asked: Any, limit: int, allowed: Names[str]) -> Scores:
        """Return identifiers with fused scores, best first."""
        alpha = asked.alpha_param if asked.use_alpha_param else asked.alpha
        depth = max(limit, LEAST_CANDIDATES)
        lists: list[tuple[float, Scores]] = []
        if alpha > 0:
            near = self.near(np.frombuffer(asked.vector_bytes, np.float32), depth, allowed)
            lists.append((alpha, [(name, 1 - distance) for name, distance in near]))
        if alpha < 1:
            lists.append((1 - alpha, self.bm25(asked.query, depth, allowed)))
        ranked = asked.fusion_type == asked.FUSION_TYPE_RANKED
        fused: dict[str, np.float32] = {}
        for weight, found in lists:
            values = [score for _, score in found] or [0.0]
            low, high = min(values), max(values)
            for rank, (name, score) in enumerate(found):
                if ranked:
                    adds = weight / (rank + 60)
                else:
                    adds = weight * (score - low) / (high - low) if high != low else weight
                fused[name] = fused.get(name, np.float32(0)) + np.float32(adds)
        ordered = sorted(fused.items(), key=lambda pair: (-pair[1], pair[0]))
        return [(name, float(score)) for name, score in ordered[:limit]]


def tokenize(text: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", text.lower()) if word]


def no_fault(_: Call) -> Fault | None:
    return None


@dataclass
class WeaviateDouble:
    """What the server knows; `fault` says what goes wrong with a gRPC call."""

    key: str = ""
    version: str = "1.37.4"
    fault: Callable[[Call], Fault | None] = no_fault
    refused: Sequence[str] = ()  # texts that cannot be stored
    queue: list[int] = field(default_factory=list)  # vectors that wait, told one after the other
    collections: dict[str, Collection] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    lock: Any = field(default_factory=Lock)
    url: str = ""
    grpc_port: int = 0

    def asked(self, method: str) -> list[Any]:
        """Return the requests of a method."""
        return [call.request for call in self.calls if call.method == method]

    # gRPC

    def search(self, asked: Any) -> Any:
        collection = self.collections[asked.collection]
        allowed = collection.allow(asked)
        if asked.HasField("near_vector"):
            near = asked.near_vector
            packed = near.vectors[0].vector_bytes if near.vectors else near.vector_bytes
            found = collection.near(np.frombuffer(packed, np.float32), asked.limit, allowed)
            kind = "distance"
        elif asked.HasField("bm25_search"):
            found, kind = collection.bm25(asked.bm25_search.query, asked.limit, allowed), "score"
        else:
            found, kind = collection.hybrid(asked.hybrid_search, asked.limit, allowed), "score"
        reply = search_get_pb2.SearchReply()
        for name, value in found:
            told = reply.results.add().metadata
            told.id, told.id_as_bytes = name, UUID(name).bytes
            setattr(told, kind, value)
            setattr(told, f"{kind}_present", True)
        return reply

    def batch(self, asked: Any) -> Any:
        reply = batch_pb2.BatchObjectsReply()
        for i, given in enumerate(asked.objects):
            text = given.properties.non_ref_properties["text"]
            if text in self.refused:
                reply.errors.add(index=i, error="no space left\non device")
                continue
            collection = self.collections[given.collection]
            packed = given.vectors[0].vector_bytes if given.vectors else given.vector_bytes
            collection.texts[given.uuid] = text
            collection.vectors[given.uuid] = np.frombuffer(packed, np.float32)
        return reply

    def aggregate(self, asked: Any) -> Any:
        count = len(self.collections[asked.collection].texts)
        single = aggregate_pb2.AggregateReply.Single(objects_count=count)
        return aggregate_pb2.AggregateReply(single_result=single)

    def _handle(self, method: str, action: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        def handle(request: Any, context: Any) -> Any:
            with self.lock:
                number = sum(call.method == method for call in self.calls)
                call = Call(method, number, request)
                self.calls.append(call)
            sent = dict(context.invocation_metadata()).get("authorization")
            if self.key and sent != f"Bearer {self.key}":
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "unauthorized: invalid api key")
            if fault := self.fault(call):
                time.sleep(fault.seconds)
                if fault.status:
                    context.abort(fault.status, "told to")
                return fault.content
            with self.lock:
                try:
                    return action(request)
                except (KeyError, ValueError) as error:
                    problem = str(error)
            return context.abort(grpc.StatusCode.UNKNOWN, problem)

        return handle

    # REST

    def answer(self, method: str, path: str, key: str, body: Any) -> tuple[int, Any]:
        """Return status and content."""
        if self.key and key != f"Bearer {self.key}":
            return 401, {"code": 401, "message": "unauthorized: invalid api key"}
        if path == "/v1/meta":
            return 200, {"version": self.version, "grpcMaxMessageSize": 104858000}
        if path == "/v1/schema" and method == "POST":
            self.collections[body["class"]] = Collection(body)
            return 200, body
        if path == "/v1/schema":
            return 200, {"classes": [each.schema for each in self.collections.values()]}
        name = path.split("/")[-1]
        if path.startswith("/v1/nodes/"):
            waiting = self.queue.pop(0) if self.queue else 0
            shard = {
                "class": name, "name": "s", "objectCount": 0, "vectorIndexingStatus": "READY",
                "vectorQueueLength": waiting, "compressed": False,
            }  # fmt: skip
            return 200, {"nodes": [{"name": "n", "status": "HEALTHY", "shards": [shard]}]}
        if method == "DELETE":
            self.collections.pop(name, None)
            return 200, None
        if name not in self.collections:
            return 404, None
        if method == "PUT":
            self.collections[name].schema = body
        return 200, self.collections[name].schema

    @contextmanager
    def serve(self) -> Iterator["WeaviateDouble"]:
        """Serve on free ports, which are in `url` and `grpc_port`."""
        methods = {
            "Search": (self.search, search_get_pb2.SearchRequest),
            "BatchObjects": (self.batch, batch_pb2.BatchObjectsRequest),
            "Aggregate": (self.aggregate, aggregate_pb2.AggregateRequest),
        }
        handlers = {
            method: grpc.unary_unary_rpc_method_handler(
                self._handle(method, action),
                request_deserializer=request.FromString,
                response_serializer=lambda reply: (
                    reply if isinstance(reply, bytes) else reply.SerializeToString()
                ),
            )
            for method, (action, request) in methods.items()
        }
        rpc = grpc.server(ThreadPoolExecutor(8))
        rpc.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
        self.grpc_port = rpc.add_insecure_port("127.0.0.1:0")
        rpc.start()
        rest = _make_rest_server(self)
        self.url = f"http://127.0.0.1:{rest.server_port}"
        Thread(target=rest.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield self
        finally:
            rest.shutdown()
            rest.server_close()
            rpc.stop(0)


def _make_rest_server(double: WeaviateDouble) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def handle_all(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(content) if content else None
            path, key = self.path.split("?")[0], self.headers.get("authorization", "")
            status, told = double.answer(self.command, path, key, body)
            encoded = b"" if told is None else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_GET = do_POST = do_PUT = do_DELETE = handle_all  # noqa: N815

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    return server


if __name__ == "__main__":
    with WeaviateDouble().serve() as serving:
        print(serving.url, serving.grpc_port, flush=True)
        Event().wait()
