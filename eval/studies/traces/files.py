"""Files of spans, read as streams: JSON, JSON Lines, protobuf and Parquet, packed or not."""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any

from assay.eval.collections.formats.reading import open_unpacked
from assay.eval.studies.traces.spans import Span, SpanError, expand, read_span
from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import hint_extra

Packed = gzip.GzipFile | BufferedReader
LARGEST = 1 << 26  # bytes of a line or message; a longer one is passed over
CHUNK = 1 << 22  # bytes; a text that goes over many is read slowly
PARQUET = b"PAR1"
MLFLOW = "mlflow:"
# Where the items of one large JSON document stand.
PLACES = {
    "item", "resourceSpans.item.scopeSpans.item.spans.item",
    "data.item", "traces.item", "spans.item",
}  # fmt: skip
FIELD = 0x0A  # the tag of a batch of spans in TracesData and in ExportTraceServiceRequest
DROPPED = (
    "span whose SDK dropped attributes, documents perhaps (kept; raise "
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT from 128)"
)
TORN = "file ends in the middle of a message"


def read_spans(source: str, faults: Counter[str]) -> Iterator[Span]:
    """Yield the spans of a file, or of an experiment of MLflow (`mlflow:NAME`).

    What cannot be read is counted in `faults`, in words, and passed over. Raises AssayError where
    there is no such file, or it holds nothing that could be a span.
    """
    before = faults.total()
    number = 0
    for raw in _read_mlflow(source) if source.startswith(MLFLOW) else _read(Path(source), faults):
        try:
            for each in expand(raw):
                try:
                    yield read_span(each)
                    number += 1
                    if each.get("droppedAttributesCount"):
                        faults[DROPPED] += 1
                except SpanError as error:
                    faults[str(error)] += 1
        except (SpanError, RecursionError, TypeError, ValueError, AttributeError) as error:
            faults[str(error) if isinstance(error, SpanError) else "not a span"] += 1
    if not number:
        why = faults.most_common(1)[0][0] if faults.total() > before else "it is empty"
        raise AssayError(
            f"{source}: holds no span that can be read ({why}); allowed: OTLP as JSON, JSON Lines "
            "or protobuf, exports of Phoenix (JSON, Parquet), MLflow and Langfuse (JSON), and "
            f"{MLFLOW}EXPERIMENT"
        )


def _read(path: Path, faults: Counter[str]) -> Iterator[Any]:
    """Yield the objects in a file."""
    if not path.is_file():
        raise AssayError(f"{path}: there is no such file")
    with open_unpacked(path) as file:
        try:
            begin = file.peek(4096).lstrip()
            if begin.startswith(PARQUET):
                yield from _read_parquet(path)
            elif begin[:1] in (b"{", b"[", b"\xef"):
                yield from _read_json(file, faults)
            elif begin:
                yield from _read_protobuf(file, faults)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            faults["packed file is damaged"] += 1


def _read_json(file: Packed, faults: Counter[str]) -> Iterator[Any]:
    """Yield the values of JSON Lines, or the items of one document."""
    first = file.readline(LARGEST)
    if first.endswith(b"\n") and file.peek(1):
        try:
            yield json.loads(first.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            if first.rstrip()[-1:] in b"{[,:":  # laid out over many lines
                yield from _read_document(_Rejoined(first, file), faults)
                return
            faults["line is not JSON"] += 1
        yield from _read_lines(file, faults)
    else:
        yield from _read_document(_Rejoined(first, file), faults)


def _read_lines(file: Packed, faults: Counter[str]) -> Iterator[Any]:
    while line := file.readline(LARGEST):
        if len(line) == LARGEST and not line.endswith(b"\n"):
            faults["line of more than 64 MB"] += 1
            while line and not line.endswith(b"\n"):
                line = file.readline(LARGEST)
        elif line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                faults["line is not JSON"] += 1


class _Rejoined:
    """A file whose beginning has been read."""

    def __init__(self, begin: bytes, rest: Packed) -> None:
        self._begin = BytesIO(begin.removeprefix(b"\xef\xbb\xbf"))
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes."""
        return self._begin.read(size) or self._rest.read(size)


def _read_document(file: _Rejoined, faults: Counter[str]) -> Iterator[Any]:
    """Yield the items of one JSON document, of which no more than an item is held at a time."""
    try:
        import ijson
    except ImportError:
        raise AssayError(f"traces: {hint_extra('traces')}") from None
    builder, place, whole = None, "", ijson.ObjectBuilder()
    try:
        for prefix, event, value in ijson.parse(
            file, buf_size=CHUNK, multiple_values=True, use_float=True
        ):
            if builder is None and prefix in PLACES and event == "start_map":
                builder, place = ijson.ObjectBuilder(), prefix
            if builder is None:
                whole.event(event, value)
                if prefix == "" and event == "end_map":
                    rest, whole = whole.value, ijson.ObjectBuilder()
                    if not _is_container(rest):
                        yield rest
                continue
            builder.event(event, value)
            if prefix == place and event == "end_map":
                yield builder.value
                builder = None
    except ijson.IncompleteJSONError:
        faults[TORN] += 1
    except ijson.JSONError:
        faults["document is not JSON from some place on"] += 1


def _is_container(rest: Any) -> bool:
    """Say whether an object is what was around items that have been yielded."""
    names = (place.partition(".")[0] for place in PLACES)
    return any(isinstance(rest.get(name), list) for name in names)


def _read_protobuf(file: Packed, faults: Counter[str]) -> Iterator[Any]:
    """Yield the batches of a file of OTLP's protobuf.

    That is one message, several put together, or, as the collector's file exporter writes, each
    behind its length in four bytes.
    """
    try:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, TracesData
    except ImportError:
        raise AssayError(f"traces: {hint_extra('traces')}") from None
    while head := file.read(1):
        whole = head[0] != FIELD
        size = _read_length(head, file) if whole else _read_varint(file)
        if size is None or size > LARGEST:
            faults["message of more than 64 MB, or no message" if size else TORN] += 1
            if size is None or not _skip(file, size):
                return
            continue
        content = file.read(size)
        if len(content) < size:
            faults[TORN] += 1
            return
        try:
            message = (TracesData if whole else ResourceSpans).FromString(content)
        except (DecodeError, ValueError):
            faults["message is not OTLP"] += 1
            continue
        for batch in message.resource_spans if whole else [message]:
            yield from (_unfold(span) for scope in batch.scope_spans for span in scope.spans)


def _unfold(span: Any) -> dict[str, Any]:
    """Return a span of protobuf as one of OTLP's JSON, its attributes as a mapping.

    What protobuf's own library makes of it takes three times as long.
    """
    return {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_span_id.hex(),
        "name": span.name,
        "startTimeUnixNano": span.start_time_unix_nano,
        "endTimeUnixNano": span.end_time_unix_nano,
        "attributes": {item.key: _unfold_value(item.value) for item in span.attributes},
        "status": span.status.code,
        "droppedAttributesCount": span.dropped_attributes_count,
    }


def _unfold_value(value: Any) -> Any:
    match value.WhichOneof("value"):
        case "array_value":
            return [_unfold_value(item) for item in value.array_value.values]
        case "kvlist_value":
            return {item.key: _unfold_value(item.value) for item in value.kvlist_value.values}
        case None:
            return None
        case kind:
            return getattr(value, kind)


def _read_length(head: bytes, file: Packed) -> int | None:
    """Return a length of four bytes that begins with `head`; None where the file ends in it."""
    length = head + file.read(3)
    return int.from_bytes(length) if len(length) == 4 else None


def _read_varint(file: Packed) -> int | None:
    """Return a number of protobuf; None where the file ends before it does, or it does not end."""
    number = 0
    for place in range(0, 64, 7):
        byte = file.read(1)
        if not byte:
            return None
        number |= (byte[0] & 0x7F) << place
        if byte[0] < 0x80:
            return number
    return None


def _skip(file: Packed, size: int) -> bool:
    """Go over `size` bytes; say whether there are as many."""
    while size > 0 and (part := file.read(min(size, 1 << 20))):
        size -= len(part)
    return not size


def _read_parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table, as Phoenix's client writes it."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise AssayError(f"traces: {hint_extra('traces')}") from None
    try:
        for batch in ParquetFile(path).iter_batches(batch_size=1000):
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise AssayError(
            f"{path}: cannot be read as Parquet: {str(error).splitlines()[0]}"
        ) from None


def _read_mlflow(source: str) -> Iterator[Any]:
    """Yield the traces of an experiment, page by page."""
    from assay.eval.tracking.store import check_installed, connect, tracking_uri

    check_installed()
    with connect(tracking_uri()) as client:
        experiment = client.get_experiment_by_name(source.removeprefix(MLFLOW))
        if experiment is None:
            known = ", ".join(sorted(item.name for item in client.search_experiments()))
            raise AssayError(f"{source}: there is no such experiment; there are: {known}")
        where, token = [experiment.experiment_id], None
        while True:
            page = client.search_traces(locations=where, max_results=100, page_token=token)
            yield from (json.loads(trace.to_json()) for trace in page)
            if not (token := page.token):
                return
