"""Spans of OpenTelemetry, Phoenix, MLflow, Langfuse, LangSmith and OpenLLMetry as one record."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from assay.eval.studies.traces.documents import (
    RecordedDocument,
    clean,
    find_list,
    look_up,
    parse,
    read_documents,
    read_query,
    unique,
)
from assay.retrievers.base.printing import replace_controls

# The span kinds of OpenInference, to which the kinds of other formats are mapped.
RETRIEVER, RERANKER, EMBEDDING, TOOL = "RETRIEVER", "RERANKER", "EMBEDDING", "TOOL"
LLM, OTHER = "LLM", ""
KINDS = {
    "RETRIEVER": RETRIEVER, "RETRIEVAL": RETRIEVER, "SEARCH_MEMORY": RETRIEVER,
    "VECTOR_DB_RETRIEVE": RETRIEVER,
    "RERANKER": RERANKER, "EMBEDDING": EMBEDDING, "EMBEDDINGS": EMBEDDING,
    "TOOL": TOOL, "EXECUTE_TOOL": TOOL, "LLM": LLM, "CHAT_MODEL": LLM,
    "GENERATION": LLM, "CHAT": LLM, "GENERATE_CONTENT": LLM, "TEXT_COMPLETION": LLM,
}  # fmt: skip
KIND_NAMES = (
    "openinference.span.kind", "mlflow.spanType", "langfuse.observation.type",
    "gen_ai.operation.name", "traceloop.span.kind", "langsmith.run_type", "span_kind",
)  # fmt: skip
THREADS = ("session_id", "thread_id", "conversation_id")
SESSIONS = (
    "session.id", "langfuse.session.id", "gen_ai.conversation.id", "mlflow.trace.session",
    *(f"traceloop.association.properties.{name}" for name in THREADS),
)  # fmt: skip
ASKED = ("gen_ai.retrieval.query.text", "reranker.query")
INPUTS = (
    "input.value", "mlflow.spanInputs", "langfuse.observation.input", "langsmith.inputs",
    "traceloop.entity.input", "gen_ai.task.input", "assay.query",
)  # fmt: skip
OUTPUTS = (
    "output.value", "mlflow.spanOutputs", "langfuse.observation.output", "langsmith.outputs",
    "traceloop.entity.output", "gen_ai.task.output",
)  # fmt: skip
ANSWERS = ("output", "answer", "result")
# OpenLLMetry's events of a vector database, one per document, and the attributes that announce
# them and give the number of queries.
RESULTS = ("db.query.result", "db.search.result")
SEARCHES = ("db.vector.query.top_k", "db.chroma.query.n_results")
QUERIES_ASKED = ("db.chroma.query.texts_count", "db.chroma.query.embeddings_count")
STEP = "assay.step.kind"
LISTED = ("retrieval.documents", "reranker.output_documents", "gen_ai.retrieval.documents")
LONGEST = 60  # characters of a name
SECOND = 1_000_000_000  # nanoseconds
VALUES = ("stringValue", "boolValue", "intValue", "doubleValue", "bytesValue")


class SpanError(Exception):
    """The error for an unusable span; the message gives the reason in a few words."""


class Span(NamedTuple):
    """The fields of a span that are used.

    Attributes:
        trace: The id of the trace.
        id: The id of the span.
        parent: The id of the parent span; "" for none.
        name: The name of the span.
        begin: The start, in nanoseconds since the epoch.
        end: The end, in nanoseconds since the epoch.
        kind: The kind of span, as in OpenInference.
        step: The kind of step that the span itself names; "" for none.
        query: The query; "" for none.
        found: The output list; None if the span has none.
        given: The list that it reranked, or the texts that it embedded.
        answer: The answer; "" for none.
        session: The id of the session; "" for none.
        failed: True if it ended in an error.
        repeats: The number of repeated entries removed from the output list.
    """

    trace: str
    id: str
    parent: str
    name: str
    begin: int
    end: int
    kind: str
    step: str
    query: str
    found: list[RecordedDocument] | None
    given: list[RecordedDocument] | None
    answer: str
    session: str
    failed: bool
    repeats: int


def expand(raw: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the spans in one object of a file: a batch of OTLP, a trace, or a span.

    Raises SpanError if it is none of them.
    """
    if not isinstance(raw, Mapping):
        raise SpanError("not an object")
    for batch in _list(raw.get("resourceSpans")):
        for scope in _list(batch.get("scopeSpans")):
            yield from _list(scope.get("spans"))
    if "resourceSpans" in raw:
        return
    data = raw.get("data")
    spans = data.get("spans") if isinstance(data, Mapping) else raw.get("spans")
    if spans is not None:  # MLflow's trace
        info = raw.get("info")
        told = info.get("trace_metadata") if isinstance(info, Mapping) else {}
        session = {"session.id": dict(told or {}).get("mlflow.trace.session")}
        yield from ({"trace_attributes": session, **span} for span in _list(spans))
    elif isinstance(raw.get("runs"), list):  # LangSmith's answer
        for run in _list(raw["runs"]):
            yield from expand(run)
    elif "run_type" in raw:
        waiting = [raw]
        while waiting:
            run = waiting.pop()
            waiting += _list(run.get("child_runs"))
            yield run
    elif isinstance(raw.get("observations"), list):  # Langfuse's trace
        session = {"session.id": raw.get("sessionId")}
        root = {**raw, "traceId": raw.get("id"), "startTime": raw.get("timestamp")}
        yield {**root, "trace_attributes": session}
        for item in _list(raw["observations"]):
            parent = item.get("parentObservationId") or raw.get("id")
            yield {"traceId": raw.get("id"), **item, "parentObservationId": parent}
    else:
        yield raw


def read_span(raw: Mapping[str, Any]) -> Span:
    """Return the record of a span of any form. Raises SpanError if it lacks ids or times."""
    attributes = _read_attributes(raw)
    context = raw.get("context")
    context = context if isinstance(context, Mapping) else {}

    def pick(*names: str) -> Any:
        both = (source.get(name) for name in names for source in (raw, context))
        return next((value for value in both if value not in (None, "")), None)

    trace, id_ = (
        _read_id(pick(*names))
        for names in (
            ("traceId", "trace_id", "context.trace_id"),
            ("spanId", "span_id", "context.span_id", "id"),
        )
    )
    if not trace or not id_:
        raise SpanError("no trace id or span id")
    begin = _read_time(pick("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time"))
    if begin is None:
        raise SpanError("no start time")
    end = _read_time(pick("endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time"))
    parent = pick(
        "parentSpanId", "parent_span_id", "parent_id", "parentObservationId", "parentId",
        "parent_run_id",
    )  # fmt: skip
    events = _read_events(raw, attributes)
    searches = events or any(name in attributes for name in SEARCHES)
    kind = _read_kind(attributes) or (RETRIEVER if searches else OTHER)
    output = _unwrap(_first(attributes, OUTPUTS), "outputs")
    listed = read_documents(events) if events else _read_found(attributes, output, kind)
    found = None if listed is None else unique(listed)
    given = _read_given(attributes, kind)
    asked = _first(attributes, ASKED)
    given_input = _unwrap(_first(attributes, INPUTS), "inputs")
    query = read_query(given_input if asked is None else asked)
    step = clean(attributes.get(STEP))
    if found and not kind and not step and all(i.content.strip() in query for i in found):
        found, query = None, ""  # parts of its own input: a text was split
    return Span(
        trace,
        id_,
        _read_id(parent),
        replace_controls(clean(raw.get("name")))[:LONGEST] or "span",
        begin,
        begin if end is None else end,
        kind,
        step,
        query,
        found,
        None if given is None else unique(given),
        "" if found is not None else _read_answer(output),
        clean(_first(attributes, SESSIONS)),
        _has_failed(raw),
        len(listed or ()) - len(found) if found else 0,
    )


def _has_failed(raw: Mapping[str, Any]) -> bool:
    status = raw.get("status")
    code = status.get("code") if isinstance(status, Mapping) else status
    if raw.get("run_type") and raw.get("error"):
        return True
    told = (code, raw.get("status_code"), raw.get("level"))  # Phoenix, Langfuse
    return any(str(item).upper().removeprefix("STATUS_CODE_") in ("2", "ERROR") for item in told)


def _list(value: Any) -> list[Mapping[str, Any]]:
    if value is not None and not isinstance(value, list):
        raise SpanError("no list where spans should be")
    items = value or []
    if not all(isinstance(item, Mapping) for item in items):
        raise SpanError("not an object")
    return items


def _read_attributes(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes from a list of OTLP, a mapping, table columns, or Langfuse's keys."""
    given = raw.get("attributes")
    if isinstance(given, list):
        pairs = {str(item.get("key")): _read_value(item.get("value")) for item in _list(given)}
    else:
        pairs = dict(given) if isinstance(given, Mapping) else {}
    pairs |= raw.get("trace_attributes") or {}
    pairs |= {k[11:]: v for k, v in raw.items() if k.startswith("attributes.") and v is not None}
    if "span_kind" in raw:
        pairs["span_kind"] = raw["span_kind"]
    if "run_type" in raw:  # LangSmith
        pairs |= {f"langsmith.{key}": raw.get(key) for key in ("run_type", "inputs", "outputs")}
        extra = raw.get("extra")
        said = extra.get("metadata") if isinstance(extra, Mapping) else None
        if isinstance(said, Mapping):
            pairs["session.id"] = next((said[name] for name in THREADS if said.get(name)), None)
    if "traceId" in raw and "startTime" in raw:  # Langfuse; OTLP says startTimeUnixNano
        said = parse(raw.get("metadata"))
        if isinstance(said, Mapping) and isinstance(said.get("attributes"), Mapping):
            pairs |= said["attributes"]
        keys = ("type", "input", "output")
        pairs |= {f"langfuse.observation.{key}": raw.get(key) for key in keys}
        pairs.setdefault("session.id", raw.get("sessionId"))
    return pairs


def _read_events(raw: Mapping[str, Any], attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the documents in the events of a span. Raises SpanError for several queries."""
    found, queries = [], set()
    events = raw.get("events")
    for event in events if isinstance(events, list) else ():
        if not isinstance(event, Mapping) or (name := event.get("name")) not in RESULTS:
            continue
        told = _read_attributes({"attributes": event.get("attributes")})
        queries.add(told.get("db.search.query.id"))
        result = {key.removeprefix(f"{name}."): value for key, value in told.items()}
        entity = parse(result.get("entity"))  # Milvus
        distance = result.get("distance")
        if "score" not in result and isinstance(distance, int | float):
            result["score"] = 0.0 - distance
        found.append({**(entity if isinstance(entity, Mapping) else {}), **result})
        if "document" in result:
            found[-1]["content"] = found[-1].pop("document")
    counts = (attributes.get(name) for name in QUERIES_ASKED)
    if found and (len(queries) > 1 or any(str(count) not in ("None", "1") for count in counts)):
        raise SpanError("answer of a database to several queries, which its events mix")
    return found


def _unwrap(value: Any, name: str) -> Any:
    """Return the value that OpenLLMetry puts below `name`; any other value unchanged."""
    value = parse(value)
    return value[name] if isinstance(value, Mapping) and name in value else value


def _read_value(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("arrayValue"), Mapping):
        return [_read_value(item) for item in value["arrayValue"].get("values") or ()]
    if isinstance(value.get("kvlistValue"), Mapping):
        items = _list(value["kvlistValue"].get("values"))
        return {str(item.get("key")): _read_value(item.get("value")) for item in items}
    return next((value[name] for name in VALUES if name in value), None)


def _first(attributes: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    values = (look_up(attributes, name) for name in names)
    return next((value for value in values if value is not None), None)


def _read_kind(attributes: Mapping[str, Any]) -> str:
    given = (parse(look_up(attributes, name)) for name in KIND_NAMES)
    kinds = (KINDS.get(kind.upper(), OTHER) for kind in given if isinstance(kind, str))
    return next(filter(None, kinds), OTHER)


def _read_found(
    attributes: Mapping[str, Any], output: Any, kind: str
) -> list[RecordedDocument] | None:
    lists = (find_list(attributes, name) for name in LISTED)
    if (found := next((i for i in lists if i is not None), None)) is not None:
        return found
    if kind in (TOOL, LLM, EMBEDDING):
        return None
    found = read_documents(output)
    # A list may be anything if the span does not say that it retrieved.
    if found and kind == OTHER and not all(item.content for item in found):
        return None
    return found if found or kind in (RETRIEVER, RERANKER) else None


def _read_given(attributes: Mapping[str, Any], kind: str) -> list[RecordedDocument] | None:
    if kind != EMBEDDING:
        return find_list(attributes, "reranker.input_documents")
    found = find_list(attributes, "embedding.embeddings")
    return read_documents(_first(attributes, INPUTS)) if found is None else found


def _read_answer(output: Any) -> str:
    value = parse(output)
    if isinstance(value, Mapping):
        value = next((value[i] for i in ANSWERS if isinstance(value.get(i), str)), value)
    return clean(value) if isinstance(value, str) else read_query(value)


def _read_id(value: Any) -> str:
    """Return an id of OpenTelemetry in hexadecimal digits, and any other id in lower case."""
    text = clean(value).removeprefix("0x")
    if len(text) in (12, 24) and text.endswith("="):  # MLflow writes base64
        with suppress(ValueError):
            text = base64.b64decode(text, validate=True).hex()
    return text[:200].lower() if text.strip("0") else ""


def _read_time(value: Any) -> int | None:
    """Return a time as nanoseconds since the epoch; the unit of a number follows from its size."""
    if isinstance(value, datetime):
        return round((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * SECOND)
    try:
        number = float(value)
    except (TypeError, ValueError):
        try:
            return _read_time(datetime.fromisoformat(value))
        except (TypeError, ValueError, OverflowError):
            return None
    if not 0 < number < 1e19:
        return None
    if number > 1e17:  # nanoseconds, which a float would round
        return int(value) if not isinstance(value, str) or value.isdecimal() else round(number)
    return round(number * next(unit for unit in (1e9, 1e6, 1e3) if number * unit < 1e20))
