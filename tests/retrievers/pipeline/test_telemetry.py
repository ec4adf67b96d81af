"""Spans, as an exporter of the host program gets them."""

import sys
import time
import timeit

import pytest
from tools.recording_progress import RecordingProgress

from assay.retrievers.base import Document, Quiet
from assay.retrievers.pipeline import telemetry
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.pipeline import Pipeline
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

pytest.importorskip("opentelemetry.sdk", reason="the extra `otel` is not installed")

DOCUMENTS = [
    Document("a.md", "The ferry sails in winter."),
    Document("b.md", "A cancelled ferry is refunded."),
    Document("c.md", "Dogs travel on deck; call getSailingById."),
]
HYBRID = {
    "query": [{"type": "classify"}],
    "legs": {"meaning": {"type": "dense"}, "words": {"type": "bm25"}},
    "fusion": {"type": "rrf"},
    "stages": [{"type": "per_document", "limit": 1}],
}
PRIVATE = "a private ferry"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Telemetry as in a new process whose environment says nothing of it."""
    monkeypatch.setattr(telemetry, "tracer", None)
    monkeypatch.setattr(telemetry, "_asked", False)
    for name in (*telemetry.ENDPOINTS, *telemetry.PROTOCOLS, "OTEL_TRACES_EXPORTER"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OTEL_SDK_DISABLED", "ASSAY_TRACE_QUERIES", "OTEL_SERVICE_NAME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def spans():
    """The exporter that a host program's provider keeps finished spans in."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.enable(provider)
    yield exporter
    provider.shutdown()


def build(retriever, log=None):
    config = PipelineConfig.model_validate({"name": "p", "retriever": retriever})
    pipeline = config.build(Resources(Cache(default_root()), log or Quiet()))
    assert isinstance(pipeline, Pipeline)
    pipeline.index(DOCUMENTS)
    return pipeline


def test_a_search_and_its_steps(spans):
    pipeline = build(HYBRID)
    begin = time.time_ns()
    ranking = pipeline.search("winter ferry", 2)
    end = time.time_ns()
    *steps, root = spans.get_finished_spans()
    assert root.name == "hierarchical_document.search"
    assert dict(root.attributes) == {
        "search.mode": "hybrid",
        "search.provider": "in-memory",
        "search.top_k": 2,
        "search.result_count": 2,
        "search.cached": False,
        "search.degraded": False,
    }
    assert [step.name for step in steps] == [
        "query.classify",
        "semantic.search.dense",
        "keyword.search.in_memory_bm25",
        "fusion.rrf",
        "stage.per_document",
    ]
    assert {step.parent.span_id for step in steps} == {root.context.span_id}
    assert {step.context.trace_id for step in steps} == {root.context.trace_id}
    _, dense, keyword, fusion, stage = (dict(step.attributes) for step in steps)
    assert (dense["search.leg"], dense["search.index_size"]) == ("meaning", 3)
    assert dense["search.encode_ms"] > 0
    assert keyword["bm25.query_tokens"] == 2
    assert keyword["bm25.index_size"] == 3
    assert keyword["search.result_count"] == 2
    assert fusion == {"search.result_count": 3}
    assert stage["stage.in"] == 3
    assert begin <= root.start_time <= root.end_time <= end
    times = [(step.start_time, step.end_time) for step in steps]
    assert [start for start, _ in times] == [root.start_time, *(stop for _, stop in times[:-1])]
    assert times[-1][1] <= root.end_time
    took = sum(entry.milliseconds for entry in ranking.trace)
    assert times[-1][1] - root.start_time == pytest.approx(took * 1e6, abs=10)


def test_a_query_is_told_only_when_asked_for(spans, monkeypatch):
    recipe = {**HYBRID, "query": [{"type": "expand", "floor": -1.0}]}
    pipeline = build(recipe)
    pipeline.search(PRIVATE, 2)
    told = [span.to_json() for span in spans.get_finished_spans()]
    assert not [text for text in told if "private" in text or "+ " in text]
    spans.clear()
    monkeypatch.setenv("ASSAY_TRACE_QUERIES", "1")
    pipeline.search(PRIVATE, 2)
    expand, dense, keyword, *_, root = spans.get_finished_spans()
    assert {span.attributes["search.query"] for span in (dense, keyword, root)} == {PRIVATE}
    assert expand.attributes["search.note"].startswith("+ ")


def test_an_answer_from_the_cache_has_no_steps(spans):
    pipeline = build({**HYBRID, "cache": {"type": "memory"}})
    pipeline.search("ferry", 2)
    spans.clear()
    pipeline.search("ferry", 2)
    (root,) = spans.get_finished_spans()
    assert root.attributes["search.cached"] is True
    assert root.attributes["search.result_count"] == 2


def test_spans_join_those_of_the_host(spans):
    pipeline = build({"legs": {"words": {"type": "bm25"}}})
    assert telemetry.tracer is not None
    with telemetry.tracer.start_as_current_span("request") as request:
        pipeline.search("ferry", 1)
    leg, root, _ = spans.get_finished_spans()
    assert root.parent.span_id == request.get_span_context().span_id
    assert leg.parent.span_id == root.context.span_id


def test_off_it_makes_none_and_costs_next_to_nothing(spans):
    pipeline = build({"legs": {"words": {"type": "bm25"}}})
    telemetry.disable()
    pipeline.search("ferry", 1)
    assert spans.get_finished_spans() == ()
    check = timeit.timeit("telemetry.tracer is None", globals={"telemetry": telemetry}, number=1000)
    search = timeit.timeit(lambda: pipeline.search("ferry", 1), number=100)
    assert check / 1000 < 0.02 * search / 100


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://h"}, False),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "True"}, False),
    ],
)
def test_the_environment_decides(environment, expected, monkeypatch):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="no extra `otel`")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    log = RecordingProgress()
    telemetry.start(log)
    assert (telemetry.tracer is not None, log.lines) == (expected, [])


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER: zipkin; allowed: otlp, "),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "OTEL_EXPORTER_OTLP_PROTOCOL: grpc; allowed: http/protobuf",
        ),
    ],
)
def test_what_cannot_be_exported_is_said_once(environment, reason, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    log = RecordingProgress()
    for _ in range(2):
        build({"legs": {"words": {"type": "bm25"}}}, log).search("ferry", 1)
    (line,) = (line for line in log.lines if "spans" in line)
    assert line.startswith(f"warning: no spans are exported: {reason}")


def test_without_the_exporter_it_names_the_extra(monkeypatch):
    name = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    log = RecordingProgress()
    telemetry.start(log)
    assert telemetry.tracer is None
    assert "make extra NAME=otel" in log.lines[0]
