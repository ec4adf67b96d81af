"""A server that speaks Weaviate's REST and gRPC, with the stubs that its client ships.

What it answers is worked out in the plainest way over the objects it was given, as Weaviate's
documents and source state it. It serves tests of the adapter, not figures.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import grpc
import numpy as np
from doubles.contract_server import (
    Asked,
    ContractServer,
    Reply,
    add_up,
    rank,
    rank_vectors,
    rank_words,
    require,
    scale,
    tokenize,
)
from weaviate.proto.v1 import aggregate_pb2, batch_pb2, search_get_pb2

SERVICE = "weaviate.v1.Weaviate"
LEAST_CANDIDATES = 100  # QUERY_HYBRID_MAXIMUM_RESULTS
STOP_WORDS = {
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
}  # fmt: skip
STATUSES = {
    401: grpc.StatusCode.UNAUTHENTICATED,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    503: grpc.StatusCode.UNAVAILABLE,
    500: grpc.StatusCode.INTERNAL,
}


@dataclass
class Collection:
    made: dict[str, Any]
    documents: dict[str, str] = field(default_factory=dict)
    vectors: dict[str, Any] = field(default_factory=dict)

    def find(self, asked):
        """Return identifiers with what a search gives them, best first."""
        allowed = self._allow(asked)
        if asked.HasField("near_vector"):
            near = self._near(asked.near_vector.vectors[0].vector_bytes, allowed)
            return [(key, 1 - cosine) for key, cosine in near[: asked.limit]]
        if asked.HasField("bm25_search"):
            return self._match(asked.bm25_search.query, allowed)[: asked.limit]
        both = asked.hybrid_search
        alpha = both.alpha_param if both.use_alpha_param else both.alpha
        depth = max(asked.limit, LEAST_CANDIDATES)
        lists = [
            self._near(both.vector_bytes, allowed)[:depth] if alpha > 0 else [],
            self._match(both.query, allowed)[:depth] if alpha < 1 else [],
        ]
        ranked = both.fusion_type == both.FUSION_TYPE_RANKED
        fused = [rank(found, 59) if ranked else scale(found) for found in lists]
        return add_up(fused, (alpha, 1 - alpha))[: asked.limit]

    def _allow(self, asked):
        if not asked.HasField("filters"):
            return self.documents.keys()
        given = asked.filters
        assert given.target.property == "_id"
        listed = set(given.value_text_array.values)
        if given.operator == given.OPERATOR_CONTAINS_NONE:
            return self.documents.keys() - listed
        assert given.operator == given.OPERATOR_CONTAINS_ANY
        return self.documents.keys() & listed

    def _near(self, packed, allowed):
        vector = np.frombuffer(packed, np.float32)
        for held in self.vectors.values():
            require(len(held) == len(vector), "vector lengths don't match")
        held = {key: vector for key, vector in self.vectors.items() if key in allowed}
        return rank_vectors(held, vector)

    def _match(self, query, allowed):
        given = self.made["invertedIndexConfig"]
        stop = STOP_WORDS if given["stopwords"]["preset"] == "en" else set()
        words = " ".join(word for word in tokenize(query) if word not in stop)
        found = rank_words(self.documents, words, given["bm25"]["k1"], given["bm25"]["b"])
        return [pair for pair in found if pair[0] in allowed]


@dataclass
class WeaviateDouble(ContractServer):
    """Weaviate with its collections; `refused` texts cannot be stored.

    `queue` are the vectors that wait to be indexed, told one after the other.
    """

    key_header = "authorization"
    version: str = "1.37.4"
    refused: Sequence[str] = ()
    queue: list[int] = field(default_factory=list)
    indexes: dict[str, Collection] = field(default_factory=dict)
    grpc_port: int = 0

    def check_key(self, asked):
        known = asked.headers.get("authorization") == f"Bearer {self.key}"
        require(known, "unauthorized: invalid api key", 401)

    def requests(self, method):
        """Return the requests of a method of gRPC."""
        return [METHODS[method].FromString(it.body) for it in self.asked if it.path == method]

    def answer(self, asked):
        """Return what is told over REST."""
        name = asked.path.split("/")[-1]
        match asked.method, asked.path.split("/")[2:]:
            case "GET", ["meta"]:
                return Reply({"version": self.version, "grpcMaxMessageSize": 104858000})
            case "POST", ["schema"]:
                made = asked.json
                known = f"class name {made['class']} already exists"
                require(made["class"] not in self.indexes, known, 422)
                self.indexes[made["class"]] = Collection(made)
                return Reply(made)
            case "GET", ["schema"]:
                return Reply({"classes": [each.made for each in self.indexes.values()]})
            case "GET", ["nodes", _]:
                shard = {
                    "class": name, "name": "s", "objectCount": 0, "vectorIndexingStatus": "READY",
                    "vectorQueueLength": self.queue.pop(0) if self.queue else 0,
                    "compressed": False,
                }  # fmt: skip
                return Reply({"nodes": [{"name": "n", "status": "HEALTHY", "shards": [shard]}]})
            case "DELETE", _:
                self.indexes.pop(name, None)
                return Reply()
        require(name in self.indexes, "no such class", 404)
        if asked.method == "PUT":
            self.indexes[name].made = asked.json
        return Reply(self.indexes[name].made)

    def _search(self, asked):
        reply = search_get_pb2.SearchReply()
        kind = "distance" if asked.HasField("near_vector") else "score"
        for name, value in self._find(asked).find(asked):
            told = reply.results.add().metadata
            told.id, told.id_as_bytes = name, UUID(name).bytes
            setattr(told, kind, value)
            setattr(told, f"{kind}_present", True)
        return reply

    def _batch(self, asked):
        reply = batch_pb2.BatchObjectsReply()
        for i, given in enumerate(asked.objects):
            text = given.properties.non_ref_properties["text"]
            if text in self.refused:
                reply.errors.add(index=i, error="no space left\non device")
                continue
            collection = self.indexes[given.collection]
            packed = given.vectors[0].vector_bytes if given.vectors else given.vector_bytes
            collection.documents[given.uuid] = text
            collection.vectors[given.uuid] = np.frombuffer(packed, np.float32)
        return reply

    def _aggregate(self, asked):
        count = self.lag(len(self._find(asked).documents))
        single = aggregate_pb2.AggregateReply.Single(objects_count=count)
        return aggregate_pb2.AggregateReply(single_result=single)

    def _find(self, asked):
        require(asked.collection in self.indexes, "no such class", 500)
        return self.indexes[asked.collection]

    def _serve_method(self, method, action):
        def act(asked):
            return action(METHODS[method].FromString(asked.body)).SerializeToString()

        def handle(request, context):
            headers = dict(context.invocation_metadata())
            asked = Asked("RPC", method, {}, headers, request)
            reply = self._handle(asked, act)
            if isinstance(reply, bytes):
                return reply
            time.sleep(reply.seconds)
            if reply.half or reply.status != 200:
                status = STATUSES[503 if reply.half else reply.status]
                context.abort(status, str(reply.body.get("message")))
            return b"\xff\xffgarbage"

        return grpc.unary_unary_rpc_method_handler(handle)

    @contextmanager
    def serve(self):
        """Serve on free ports, which are in `url` and `grpc_port`."""
        actions = {
            "Search": self._search, "BatchObjects": self._batch, "Aggregate": self._aggregate,
        }  # fmt: skip
        handlers = {method: self._serve_method(method, act) for method, act in actions.items()}
        rpc = grpc.server(ThreadPoolExecutor(8))
        rpc.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
        self.grpc_port = rpc.add_insecure_port("127.0.0.1:0")
        rpc.start()
        try:
            with super().serve() as url:
                yield url
        finally:
            rpc.stop(0)


METHODS = {
    "Search": search_get_pb2.SearchRequest,
    "BatchObjects": batch_pb2.BatchObjectsRequest,
    "Aggregate": aggregate_pb2.AggregateRequest,
}
