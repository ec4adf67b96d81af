"""A server that speaks Qdrant's REST, and gRPC for queries, with the client's own emulation of it.

It serves tests of the adapter, not figures: it is Python, and has no graph.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc as rpc
from doubles.contract_server import Asked, ContractServer, Reply, require
from qdrant_client import QdrantClient, grpc, models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

STATUSES = {401: rpc.StatusCode.UNAUTHENTICATED, 404: rpc.StatusCode.NOT_FOUND}


@dataclass
class QdrantDouble(ContractServer):
    """What the server knows: its collections are those of the emulation."""

    key_header = "api-key"
    late = 1.2
    version: str = "1.17.0"
    client: QdrantClient = field(default_factory=lambda: QdrantClient(":memory:"))
    queries_by_grpc: int = 0

    @property
    def kept(self):
        """The names of the collections."""
        return {each.name for each in self.client.get_collections().collections}

    def lose_a_text(self):
        (name,) = self.kept
        self.client.delete(name, [0])

    def rewrite_note(self, old, new):
        """Put something else into the only note."""
        (name,) = self.kept
        note = self.client.get_collection(name).config.metadata["assay"]
        assert old in note
        self.client.update_collection(name, metadata={"assay": note.replace(old, new)})

    def fail(self, status, said):
        """Return an error as Qdrant writes it."""
        headers = {"Retry-After": "1"} if status == 429 else {}
        return Reply({"status": {"error": said}, "time": 0.0}, status, headers)

    def answer(self, asked):
        """Return status and result."""
        if asked.path == "/":
            return Reply({"title": "qdrant", "version": self.version})
        result = self._try(lambda: self._act(asked))
        result = result.model_dump(mode="json") if hasattr(result, "json") else result
        return Reply({"result": result, "status": "ok", "time": 0.0})

    def _try(self, act):
        try:
            return act()
        except ValueError as error:
            known = {"not found": 404, "already exists": 409}
            status = next((it for said, it in known.items() if said in str(error)), 400)
            require(False, str(error), status)

    def _act(self, asked):
        client, body = self.client, asked.json if asked.body else {}
        if asked.path == "/collections":
            return client.get_collections()
        match = re.fullmatch(r"/collections/([^/]+)(/.*)?", asked.path)
        assert match, asked.path
        name = match[1]
        match asked.method, match[2]:
            case _, "/points":
                return client.upsert(name, models.PointsList(**body).points)
            case _, "/points/count":
                count = client.count(name)
                return models.CountResult(count=self.lag(count.count))
            case _, "/points/query":
                return self._query(name, models.QueryRequest(**body))
            case "GET", None:
                return client.get_collection(name)
            case "DELETE", None:
                return client.delete_collection(name)
            case "PATCH", None:
                return client.update_collection(name, metadata=body["metadata"])
        given = models.CreateCollection(**body)
        return client.create_collection(
            name,
            vectors_config=given.vectors,
            sparse_vectors_config=given.sparse_vectors,
            metadata=given.metadata,
        )

    def _query(self, name, asked):
        return self.client.query_points(
            name,
            query=asked.query,
            using=asked.using,
            prefetch=asked.prefetch,
            query_filter=asked.filter,
            limit=asked.limit or 10,
            with_payload=False,
        )

    @contextmanager
    def serve_grpc(self):
        """Answer queries by gRPC on a free port, which is given."""
        double = self

        class Points(grpc.PointsServicer):  # type: ignore[misc]
            def Query(self, request, context):  # noqa: N802
                def act(_):
                    double.queries_by_grpc += 1
                    asked = GrpcToRest.convert_query_points(request)
                    found = double._try(lambda: double._query(request.collection_name, asked))
                    points = [RestToGrpc.convert_scored_point(point) for point in found.points]
                    return grpc.QueryResponse(result=points, time=0.0)

                headers = dict(context.invocation_metadata())
                reply = double._handle(Asked("RPC", "Query", {}, headers, b""), act)
                if isinstance(reply, Reply):
                    status = STATUSES.get(reply.status, rpc.StatusCode.INTERNAL)
                    context.abort(status, reply.body["status"]["error"])
                return reply

        server = rpc.server(ThreadPoolExecutor(4))
        grpc.add_PointsServicer_to_server(Points(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield port
        finally:
            server.stop(None).wait()
