"""The command line sends spans to a receiver that reads OTLP's protobuf over HTTP."""

import gzip
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip(
    "opentelemetry.exporter.otlp.proto.http", reason="the extra `otel` is not installed"
)


class Receiver(ThreadingHTTPServer):
    """An OTLP receiver over HTTP that keeps what it is sent."""

    def __init__(self):
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )

        received = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                received.append((self.path, ExportTraceServiceRequest.FromString(body)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.received = received
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def names(self):
        """The (service, name) of every span."""
        return [
            (service, span.name)
            for _, request in self.received
            for resource in request.resource_spans
            for service in [
                pair.value.string_value
                for pair in resource.resource.attributes
                if pair.key == "service.name"
            ]
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def receiver():
    with Receiver() as server:
        yield server
        server.shutdown()


@pytest.fixture
def config(tmp_path):
    """A pipeline of its own, so that no run of it is stored."""
    path = tmp_path / "p.yaml"
    path.write_text("name: spans\nretriever: {legs: {words: {type: bm25}}}\n")
    return str(path)


@pytest.mark.parametrize(
    ("words", "searches"), [(("run", "limit=3", "latency.queries=0"), 3), (("search", "ferry"), 1)]
)
def test_its_spans_are_sent_before_it_ends_and_no_others(assay, config, receiver, words, searches):
    endpoint = f"http://127.0.0.1:{receiver.server_port}"
    done = assay(words[0], config, *words[1:], OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
    assert done.returncode == 0, done.stderr
    assert {path for path, _ in receiver.received} == {"/v1/traces"}
    assert Counter(receiver.names()) == {
        ("assay", "hierarchical_document.search"): searches,
        ("assay", "keyword.search.in_memory_bm25"): searches,
    }


def test_a_receiver_that_is_down_is_no_fault_of_the_run(assay, config):
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    environment["OTEL_EXPORTER_OTLP_TIMEOUT"] = "1"
    done = assay("search", config, "ferry", "--json", **environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
