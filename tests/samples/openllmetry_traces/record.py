"""What OpenLLMetry makes of a LangChain chain over Chroma, as OTLP JSON with plain ids and times.

Nothing is sent: pip install opentelemetry-instrumentation-langchain==0.62.4
opentelemetry-instrumentation-chromadb==0.62.4 langchain-core==1.7.2 chromadb==1.5.9;
python record.py > spans.json
"""

import json
import sys
from base64 import b64decode
from itertools import count

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.instrumentation.chromadb import ChromaInstrumentor
from opentelemetry.instrumentation.langchain import LangchainInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

IDS = ("traceId", "spanId", "parentSpanId")
TIMES = ("startTimeUnixNano", "endTimeUnixNano")
BEGIN, STEP = 1_790_000_000_000_000_000, 10_000_000  # nanoseconds
# Instrumentation puts its own ids and times into attributes and events, which tell nothing.
LEFT_OUT = ("gen_ai.task.id", "gen_ai.task.parent.id", "gen_ai.agent.id")


def embed(text):
    return [float("dog" in text.lower()), 1.0, float("ferry" in text.lower())]


def search():
    """Make two searches by a chain, one of the database alone, and one of it by two queries."""
    import chromadb
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough

    guides = chromadb.EphemeralClient().create_collection("guides")
    texts = ["The ferry sails twice a day.", "Dogs travel on deck."]
    names = [{"source": "times.md"}, {"source": "dogs.md"}]
    guides.add(
        ids=["c1", "c2"], documents=texts, embeddings=list(map(embed, texts)), metadatas=names
    )

    class Guides(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            found = guides.query(query_embeddings=[embed(query)], n_results=2)
            pairs = zip(found["documents"][0], found["metadatas"][0], strict=True)
            return [Document(page_content=text, metadata=name) for text, name in pairs]

    def answer(values):
        return "on deck"

    chain = {"context": Guides(), "question": RunnablePassthrough()} | RunnableLambda(answer)
    for query in ("may dogs travel", "when does the ferry sail"):
        chain.invoke(query, {"metadata": {"session_id": "s1"}})
    guides.query(query_embeddings=[embed("ferry")], n_results=1)
    guides.query(query_embeddings=[embed("ferry"), embed("dogs")], n_results=1)


def record():
    """Return the spans, in the order in which they ended."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for instrumentor in (LangchainInstrumentor(), ChromaInstrumentor()):
        instrumentor.instrument(tracer_provider=provider)
    search()
    batch = MessageToDict(encode_spans(exporter.get_finished_spans()))
    scopes = batch["resourceSpans"][0]["scopeSpans"]
    batch["resourceSpans"][0].pop("resource")
    spans = [span for scope in scopes for span in scope["spans"]]
    times = sorted({int(span[key]) for span in spans for key in TIMES})
    known, numbers = {}, count(1)
    for span in spans:
        for key in IDS:
            if key in span:
                size = 2 * len(b64decode(span[key]))
                span[key] = known.setdefault(span[key], f"{next(numbers):0{size}x}")
        for key in TIMES:
            span[key] = str(BEGIN + STEP * times.index(int(span[key])))
        span["attributes"] = [i for i in span["attributes"] if i["key"] not in LEFT_OUT]
        for event in span.get("events", ()):
            event["timeUnixNano"] = span["endTimeUnixNano"]
    return batch


if __name__ == "__main__":
    json.dump(record(), sys.stdout, indent=1)
