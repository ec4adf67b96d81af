"""Retrievers of frameworks, traced into a real MLflow and a real Phoenix, are those run directly.

For Phoenix: pip install arize-phoenix, `phoenix serve`, openinference-instrumentation-langchain,
-llama-index and -haystack, and PHOENIX_URL=http://127.0.0.1:6006.
"""

import importlib
import json
import os
from time import sleep
from uuid import uuid4

import httpx
import pytest
from tools import framework_retrievers

from assay import run
from assay.eval.studies.traces.matching import DocumentMatcher
from assay.eval.studies.traces.traces import open_book

QUERIES = {"q1": "when does the ferry sail?", "q2": "the night train"}
COLLECTION = {
    "documents": framework_retrievers.TEXTS,
    "queries": QUERIES,
    "judgments": {"q1": {"guides/ferry.md": 1}, "q2": {"guides/train.md": 1}},
    "name": "guides",
}
CALLS = {
    "langchain": lambda retriever, query: retriever.invoke(query),
    "llamaindex": lambda retriever, query: retriever.retrieve(query),
    "haystack": lambda retriever, query: retriever.run({"words": {"query": query}}),
}
INSTRUMENTORS = {
    "langchain": ("langchain", "LangChainInstrumentor"),
    "llamaindex": ("llama_index", "LlamaIndexInstrumentor"),
    "haystack": ("haystack", "HaystackInstrumentor"),
}


@pytest.fixture(autouse=True)
def reports(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))


def make(kind):
    """Return a retriever, and what the program calls."""
    pytest.importorskip(
        {"langchain": "langchain_core", "llamaindex": "llama_index"}.get(kind, kind)
    )
    retriever = getattr(framework_retrievers, kind)(framework_retrievers.documents())
    if kind != "haystack":
        return retriever, retriever
    import haystack

    pipeline = haystack.Pipeline()
    pipeline.add_component("words", retriever)
    return retriever, pipeline


def read(source):
    """Return the places that traces tell, by query."""
    matcher = DocumentMatcher(framework_retrievers.documents())
    with open_book([source]) as book:
        found = {
            trace.query: [matcher.find(document) for document in trace.found]
            for trace in book.traces()
            if trace.query in QUERIES.values()  # and not what making the index did
        }
    return {
        query: [(chunk.doc_id, chunk.start, chunk.end) for chunk in chunks if chunk]
        for query, chunks in found.items()
    }


def search(retriever):
    """Return the places that a direct run finds, by query."""
    rankings = run(retriever, collection=COLLECTION, track=False).stored.rankings
    return {
        QUERIES[query]: [(i.chunk.doc_id, i.chunk.start, i.chunk.end) for i in ranking.hits]
        for query, ranking in rankings.items()
    }


@pytest.mark.long
@pytest.mark.parametrize("kind", ["langchain", "llamaindex"])
def test_traced_into_mlflow(kind, tmp_path, monkeypatch):
    import mlflow

    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(os.environ["MLFLOW_TRACKING_URI"])
    retriever, program = make(kind)
    flavour = mlflow.langchain if kind == "langchain" else mlflow.llama_index
    mlflow.set_experiment(f"shop-{kind}")
    flavour.autolog()
    try:
        for query in QUERIES.values():
            CALLS[kind](program, query)
        mlflow.flush_trace_async_logging()
    finally:
        flavour.autolog(disable=True)
        mlflow.set_tracking_uri(None)
    assert read(f"mlflow:shop-{kind}") == search(retriever)


@pytest.fixture
def phoenix():
    if not (address := os.environ.get("PHOENIX_URL")):
        pytest.skip("PHOENIX_URL is not set")
    return address


@pytest.fixture
def instrumented(phoenix, request):
    """Send what a framework does to a project of its own, and yield its name."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    module, name = INSTRUMENTORS[request.getfixturevalue("kind")]
    package = f"openinference.instrumentation.{module}"
    pytest.importorskip(package)
    project = f"assay-{uuid4().hex[:8]}"
    provider = TracerProvider(resource=Resource({"openinference.project.name": project}))
    exporter = OTLPSpanExporter(endpoint=f"{phoenix}/v1/traces")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = getattr(importlib.import_module(package), name)()
    instrumentor.instrument(tracer_provider=provider, skip_dep_check=True)
    yield project
    instrumentor.uninstrument()
    provider.shutdown()


@pytest.mark.live
@pytest.mark.parametrize("kind", CALLS)
def test_traced_into_phoenix(kind, instrumented, phoenix, tmp_path):
    retriever, program = make(kind)
    for query in QUERIES.values():
        CALLS[kind](program, query)
    path = tmp_path / "spans.json"
    for _ in range(40):  # Phoenix writes what it is sent a little later
        reply = httpx.get(f"{phoenix}/v1/projects/{instrumented}/spans", params={"limit": 1000})
        if reply.is_success:
            path.write_text(json.dumps(reply.json()))
            if len(asked := read(str(path))) == len(QUERIES):
                break
        sleep(0.25)
    assert asked == search(retriever)
