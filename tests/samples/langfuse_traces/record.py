"""What Langfuse's own client makes of a program's searches, as OTLP JSON with plain ids and times.

Nothing is sent: pip install langfuse==5.0.4; python record.py > spans.json
"""

import json
import sys
from base64 import b64decode
from itertools import count

from google.protobuf.json_format import MessageToDict
from langfuse import Langfuse, observe, propagate_attributes
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator

FERRY = {"id": "c1", "text": "The ferry sails twice a day.", "score": 0.5}
DOGS = {"id": "c2", "text": "Dogs travel on deck.", "score": 0.25}
IDS = ("traceId", "spanId", "parentSpanId")
TIMES = ("startTimeUnixNano", "endTimeUnixNano")
BEGIN, STEP = 1_790_000_000_000_000_000, 10_000_000  # nanoseconds


class PlainIds(IdGenerator):
    """Ids that count."""

    def __init__(self):
        self._traces, self._spans = count(1), count(1)

    def generate_trace_id(self):
        return next(self._traces)

    def generate_span_id(self):
        return next(self._spans)


@observe(as_type="retriever")
def vectors(query):
    return [FERRY, DOGS] if "dogs" in query else []


@observe()
def rerank(query, documents):
    return [{**item, "score": 2 - place} for place, item in enumerate(reversed(documents))]


@observe(as_type="generation")
def generate(prompt):
    return "on deck"


@observe()
def answer(question):
    documents = rerank(question, documents=vectors(question))
    return generate([{"role": "user", "content": f"{question}\n{documents}"}])


def record():
    """Return the spans of two searches, in the order in which they ended."""
    exporter = InMemorySpanExporter()
    keys = {"public_key": "pk", "secret_key": "sk", "base_url": "http://127.0.0.1:9"}
    client = Langfuse(**keys, span_exporter=exporter, id_generator=PlainIds())
    for session, question in (("s1", "may dogs travel"), ("s2", "where is the goat")):
        with propagate_attributes(session_id=session):
            answer(question)
    client.flush()
    return MessageToDict(encode_spans(exporter.get_finished_spans()))


def make_plain(batch):
    """Count times, write ids in hexadecimal digits, and leave out the machine."""
    for resource in batch["resourceSpans"]:
        resource.pop("resource")
    spans = [i for r in batch["resourceSpans"] for s in r["scopeSpans"] for i in s["spans"]]
    times = sorted({int(span[key]) for span in spans for key in TIMES})
    for span in spans:
        span.update({key: b64decode(span[key]).hex() for key in IDS if key in span})
        span.update({key: str(BEGIN + times.index(int(span[key])) * STEP) for key in TIMES})
    return batch


json.dump(make_plain(record()), sys.stdout, indent=1)
