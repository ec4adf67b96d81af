"""OpenTelemetry: a span for each search, and one below it for each step of the search.

The environment switches it on, by the variables that OpenTelemetry prescribes: an OTLP endpoint
(OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) or an exporter
(OTEL_TRACES_EXPORTER: otlp, console or none), unless OTEL_SDK_DISABLED is true. Spans then go
through a provider of this module's own, so that they never mix with those of MLflow or of a host
program. A host program that wants them among its own calls `enable`.

Queries are exported only if ASSAY_TRACE_QUERIES is 1: a query may be private.
"""

import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.retrievers.base import Progress, Ranking, StageTrace
from assay.retrievers.base.installation import hint_extra

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Tracer, TracerProvider

SCOPE = "assay"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
EXPORTERS = ("otlp", "console", "none")
# Legs whose spans go by another name than their type.
LEGS = {"bm25": "in_memory_bm25"}

Attributes = dict[str, str | bool | int | float]

# None while telemetry is off: all that a search looks at then.
tracer: "Tracer | None" = None
_lock = threading.Lock()
_silent = ContextVar("silent", default=False)
_asked = False


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The plan of a pipeline's searches: the kind and the type of each leg by its name.

    `provider` is the engine that holds the indexes, empty for this process; `fusion` is empty
    if nothing is fused.
    """

    mode: str
    provider: str
    legs: Mapping[str, tuple[str, str]]
    fusion: str


@dataclass(frozen=True, slots=True)
class Search:
    """A finished search: its pipeline and query, and its times in nanoseconds since the epoch.

    `chunks` is the size of the index; `cached` is True if no step ran.
    """

    plan: SearchPlan
    chunks: int
    query: str
    k: int
    begin: int
    end: int
    cached: bool


def enable(provider: "TracerProvider | None" = None) -> None:
    """Give spans to `provider`, or to the one that the host program has set for all."""
    from opentelemetry import trace

    global tracer, _asked
    tracer, _asked = trace.get_tracer(SCOPE, tracer_provider=provider), True


def disable() -> None:
    """Make no more spans."""
    global tracer, _asked
    tracer, _asked = None, True


@contextmanager
def silence() -> Iterator[None]:
    """Make no spans for searches in this block: a warm-up is no search of the user's."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def start(progress: Progress) -> None:
    """Set up tracing as the environment says, on the first call, unless the program has done so.

    A failure is reported in one line and is no error: these variables are often set for all
    programs of a machine.
    """
    global tracer, _asked
    with _lock:
        if _asked:
            return
        _asked = True
        if not (names := _list_exporters()):
            return
        try:
            tracer = _make_tracer([_make_exporter(name) for name in names])
        except Exception as error:
            progress.say(f"warning: no spans are exported: {error}")


def record(search: Search, ranking: Ranking) -> None:
    """Make the spans of `search`, all at once, after it has ended.

    A step's span is as long as the step was, and begins where the step before it ended.
    """
    if tracer is None or _silent.get():
        return
    from opentelemetry.trace import set_span_in_context

    attributes: Attributes = {
        "search.mode": search.plan.mode,
        "search.provider": search.plan.provider or "in-memory",
        "search.top_k": search.k,
        "search.result_count": len(ranking.hits),
        "search.cached": search.cached,
        "search.degraded": bool(ranking.degraded),
        **_tell(search.query),
    }
    span = tracer.start_span(
        "hierarchical_document.search", start_time=search.begin, attributes=attributes
    )
    if not search.cached:
        context = set_span_in_context(span)
        begin = search.begin
        for step in _read_steps(search, ranking.trace):
            child = tracer.start_span(
                step.name, context=context, start_time=begin, attributes=step.attributes
            )
            begin += round(step.milliseconds * 1e6)
            child.end(begin)
    span.end(search.end)


@dataclass(frozen=True, slots=True)
class _Step:
    name: str
    milliseconds: float
    attributes: Attributes


def _read_steps(search: Search, trace: Sequence[StageTrace]) -> Iterator[_Step]:
    """Yield the steps that become spans: a leg's own steps (`dense.encode`) count as one."""
    parts: Attributes = {}
    milliseconds = 0.0
    for entry in trace:
        milliseconds += entry.milliseconds
        leg, _, part = entry.name.rpartition(".")
        if entry.kind == "query" and leg in search.plan.legs:
            parts[f"search.{part}_ms"] = entry.milliseconds
            continue
        name, attributes = _describe(search, entry)
        yield _Step(name, milliseconds, attributes | parts)
        parts, milliseconds = {}, 0.0


def _describe(search: Search, entry: StageTrace) -> tuple[str, Attributes]:
    """Return the name and the attributes of a step's span."""
    told = _tell(entry.note, "search.note")
    if entry.kind == "query":
        return f"query.{entry.name}", _name_counts("query", entry.counts) | told
    found: Attributes = {"search.result_count": len(entry.candidates)}
    if entry.kind == "leg":
        kind, type_ = search.plan.legs[entry.name]
        prefix = "bm25" if kind == "keyword" else "search"
        found |= {"search.leg": entry.name, f"{prefix}.index_size": search.chunks}
        found |= _name_counts(prefix, entry.counts) | _tell(search.query) | told
        return f"{kind}.search.{LEGS.get(type_, type_)}", found
    if entry.kind == "fusion":
        return f"fusion.{search.plan.fusion}", found
    return f"stage.{entry.name}", found | _name_counts("stage", entry.counts) | told


def _name_counts(prefix: str, counts: Mapping[str, int]) -> Attributes:
    return {f"{prefix}.{name}": count for name, count in counts.items()}


def _tell(text: str, name: str = "search.query") -> Attributes:
    """Return `text`, of a query or about it, if queries are to be exported."""
    return {name: text} if text and os.environ.get("ASSAY_TRACE_QUERIES") == "1" else {}


class _StandardError:
    """Standard error as it is when something is written to it.

    Spans are written late, some as the process ends: the stream of an earlier time may be gone.
    """

    def write(self, text: str) -> None:
        sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def _list_exporters() -> list[str]:
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return []
    implied = "otlp" if any(map(os.environ.get, ENDPOINTS)) else ""
    names = (os.environ.get("OTEL_TRACES_EXPORTER") or implied).split(",")
    return [name for name in map(str.strip, names) if name not in ("", "none")]


def _make_exporter(name: str) -> "SpanExporter":
    """Return an exporter, which reads its own variables (endpoint, headers, timeout …)."""
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=_StandardError())  # standard output is for results
    if name != "otlp":
        raise ValueError(f"OTEL_TRACES_EXPORTER: {name}; allowed: {', '.join(EXPORTERS)}")
    protocol = next(filter(None, map(os.environ.get, PROTOCOLS)), "http/protobuf")
    if protocol != "http/protobuf":
        raise ValueError(f"OTEL_EXPORTER_OTLP_PROTOCOL: {protocol}; allowed: http/protobuf")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError:
        raise ImportError(f"OTLP {hint_extra('otel')}") from None
    return OTLPSpanExporter()


def _make_tracer(exporters: Sequence["SpanExporter"]) -> "Tracer":
    """Return a tracer whose spans go to `exporters`, the last ones when the process ends."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    given = "OTEL_SERVICE_NAME" in os.environ or "service.name" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    provider = TracerProvider(resource=Resource.create({} if given else {"service.name": SCOPE}))
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider.get_tracer(SCOPE)
