"""A server that speaks Qdrant's REST, and gRPC for queries, with the client's own emulation of it.

It serves tests of the adapter, not figures: it is Python, and has no graph.

    python -m doubles.qdrant    # prints its address, and serves until it is killed
"""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

import grpc as rpc
from qdrant_client import QdrantClient, grpc, models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

VERSION = "1.17.0"


@dataclass
class QdrantDouble:
    """What the server knows: its key, where it asks for one, and its collections."""

    key: str = ""
    version: str = VERSION
    client: QdrantClient = field(default_factory=lambda: QdrantClient(":memory:"))
    lock: Lock = field(default_factory=Lock)
    queries_by_grpc: int = 0

    def answer(self, method: str, path: str, key: str, body: Any) -> tuple[int, Any]:
        """Return status and result."""
        if self.key and key != self.key:
            return 401, "Must provide an API key or an Authorization bearer token"
        with self.lock:
            try:
                return 200, self._act(method, path, body)
            except ValueError as error:
                return 404 if "not found" in str(error) else 400, str(error)

    def _act(self, method: str, path: str, body: Any) -> Any:
        client = self.client
        if path == "/":
            return None
        if path == "/aliases":
            return client.get_aliases()
        if path == "/collections":
            return client.get_collections()
        if path == "/collections/aliases":
            actions = models.ChangeAliasesOperation(**body).actions
            return client.update_collection_aliases(actions)
        match = re.fullmatch(r"/collections/([^/]+)(/.*)?", path)
        assert match, path
        name, rest = match.group(1), match.group(2) or ""
        if rest == "/points":
            return client.upsert(name, models.PointsList(**body).points)
        if rest == "/points/count":
            return client.count(name)
        if rest == "/points/query":
            return self._query(name, models.QueryRequest(**body))
        assert not rest, path
        return self._change(method, name, body)

    def _change(self, method: str, name: str, body: Any) -> Any:
        client = self.client
        if method == "GET":
            return client.get_collection(name)
        if method == "DELETE":
            return client.delete_collection(name)
        if method == "PATCH":
            return client.update_collection(name, metadata=body["metadata"])
        given = models.CreateCollection(**body)
        return client.create_collection(
            name,
            vectors_config=given.vectors,
            sparse_vectors_config=given.sparse_vectors,
            metadata=given.metadata,
        )

    def _query(self, name: str, asked: models.QueryRequest) -> Any:
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
    def serve(self) -> Iterator[str]:
        """Serve on a free port, whose address is given."""
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def handle_all(self) -> None:
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path = self.path.split("?")[0]
                body = json.loads(content) if content else None
                status, result = double.answer(
                    self.command, path, self.headers.get("api-key", ""), body
                )
                if path == "/" and status == 200:
                    told: Any = {"title": "qdrant", "version": double.version}
                elif status == 200:
                    result = result.model_dump(mode="json") if hasattr(result, "json") else result
                    told = {"result": result, "status": "ok", "time": 0.0}
                else:
                    told = {"status": {"error": result}, "time": 0.0}
                encoded = json.dumps(told).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(encoded)))
                self.end_headers()
                self.wfile.write(encoded)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_all  # noqa: N815

            def log_message(self, *_: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

        server = Server(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()

    @contextmanager
    def serve_grpc(self) -> Iterator[int]:
        """Answer queries by gRPC on a free port, which is given."""
        double = self

        class Points(grpc.PointsServicer):  # type: ignore[misc]
            def Query(self, request: Any, context: Any) -> Any:  # noqa: N802
                given = dict(context.invocation_metadata())
                if double.key and given.get("api-key") != double.key:
                    context.abort(rpc.StatusCode.UNAUTHENTICATED, "no valid key")
                asked = GrpcToRest.convert_query_points(request)
                with double.lock:
                    double.queries_by_grpc += 1
                    try:
                        found = double._query(request.collection_name, asked)
                    except ValueError as error:
                        missing = "not found" in str(error)
                        status = rpc.StatusCode.NOT_FOUND if missing else rpc.StatusCode.INTERNAL
                        context.abort(status, str(error))
                points = [RestToGrpc.convert_scored_point(point) for point in found.points]
                return grpc.QueryResponse(result=points, time=0.0)

        server = rpc.server(ThreadPoolExecutor(4))
        grpc.add_PointsServicer_to_server(Points(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield port
        finally:
            server.stop(None).wait()


if __name__ == "__main__":
    with QdrantDouble().serve() as address:
        print(address, flush=True)
        Event().wait()
