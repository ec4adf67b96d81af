"""Spans made by OpenTelemetry's own SDK, in the forms in which they are stored."""

import json
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

FERRY = {"id": "c1", "text": "The ferry sails twice a day.", "score": 0.5}
DOGS = {"id": "c2", "text": "Dogs travel on deck.", "score": 0.25}


class Emitter:
    """A provider of its own, and what it has made."""

    def __init__(self):
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("app")

    @property
    def spans(self):
        return self._exporter.get_finished_spans()

    @contextmanager
    def span(self, name, **attributes):
        """Make a span; `input__value` is the attribute input.value."""
        named = {key.replace("__", "."): value for key, value in attributes.items()}
        with self.tracer.start_as_current_span(name, attributes=named) as span:
            yield span

    def line(self):
        """All spans as a line of OTLP, as a Collector's file exporter writes it."""
        return json.dumps(self.otlp_json()).encode() + b"\n"

    def otlp_json(self):
        from google.protobuf.json_format import MessageToDict

        batch = MessageToDict(encode_spans(self.spans))
        for span in list_spans(batch):  # ids are hexadecimal in OTLP's JSON
            for key in ("traceId", "spanId", "parentSpanId"):
                if key in span:
                    import base64

                    span[key] = base64.b64decode(span[key]).hex()
        return batch


def list_spans(batch):
    return [
        span
        for resource in batch["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def flatten(documents, name="retrieval.documents"):
    """Return documents as OpenInference flattens them."""
    keys = {"id": "id", "text": "content", "score": "score"}
    return {
        f"{name}.{i}.document.{keys[key]}": value
        for i, document in enumerate(documents)
        for key, value in document.items()
    }


def emit_search(query, found, emitter=None):
    """Make the spans of a chain with a retriever, as OpenInference's instrumentation does."""
    emitter = emitter or Emitter()
    kind = "openinference.span.kind"
    with emitter.span("chain", input__value=json.dumps({"question": query})) as root:
        root.set_attributes({kind: "CHAIN", "session.id": "s1", "output.value": "on deck"})
        with emitter.span("vectors", input__value=query) as span:
            span.set_attributes({kind: "RETRIEVER", **flatten(found)})
    return emitter
