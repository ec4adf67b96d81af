"""Readers of files of spans as streams: JSON, JSON Lines and Parquet, compressed or not."""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any

from assay.eval.collections.formats.reading import open_unpacked
from assay.eval.studies.traces.spans import Span, SpanError, expand, read_span
from assay.retrievers.base import AssayError
from assay.retrievers.base.bounds import (
    DOCUMENT,
    JSON_DEPTH,
    LINE,
    MEGABYTE,
    VALUE,
    BoundError,
    describe_unpacked,
    limit_unpacked,
)
from assay.retrievers.base.installation import hint_extra
from assay.retrievers.base.json_text import parse_json

CHUNK = 1 << 22  # bytes; a text that spans many chunks is read slowly
PARQUET = b"PAR1"
ROWS = 100  # rows of a Parquet file read at a time
MLFLOW = "mlflow:"
ITEM = "item"  # key for the items of a list in the path of a value
KEYS = {"start_map": "", "start_array": ITEM}
ENDS = ("end_map", "end_array")
# Paths of the items in one large JSON document.
PLACES = {
    (ITEM,), ("resourceSpans", ITEM, "scopeSpans", ITEM, "spans", ITEM),
    ("data", ITEM), ("traces", ITEM), ("spans", ITEM), ("runs", ITEM),
}  # fmt: skip
DROPPED = (
    "span whose SDK dropped attributes, documents perhaps (kept; raise "
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT from 128)"
)
TORN = "file ends in the middle of a document"


def read_spans(source: str, faults: Counter[str]) -> Iterator[Span]:
    """Yield the spans of a file, or of an experiment of MLflow (`mlflow:NAME`).

    Unreadable parts are skipped and counted in `faults`, by a description. Raises AssayError if
    there is no such file, or it has no readable span.
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
            f"{source}: holds no span that can be read ({why}); allowed: OTLP as JSON or "
            "JSON Lines, exports of Phoenix (JSON, Parquet), MLflow, Langfuse and LangSmith "
            f"(JSON), and {MLFLOW}EXPERIMENT"
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
                faults["neither JSON nor Parquet"] += 1
        except BoundError as error:
            faults[error.reason] += 1
        except (EOFError, gzip.BadGzipFile, zlib.error):
            faults["packed file is damaged"] += 1


def _read_json(file: BufferedReader, faults: Counter[str]) -> Iterator[Any]:
    """Yield the values of JSON Lines, or the items of one document."""
    first = file.readline(LINE)
    if first.endswith(b"\n") and file.peek(1):
        try:
            yield parse_json(first.decode("utf-8-sig"))
        except ValueError:
            if first.rstrip()[-1:] in b"{[,:":  # laid out over many lines
                yield from _read_document(_Rejoined(first, file), faults)
                return
            faults["line is not JSON"] += 1
        yield from _read_lines(file, faults)
    else:
        yield from _read_document(_Rejoined(first, file), faults)


def _read_lines(file: BufferedReader, faults: Counter[str]) -> Iterator[Any]:
    while line := file.readline(LINE):
        if len(line) == LINE and not line.endswith(b"\n"):
            faults["line of more than 64 MB"] += 1
            while line and not line.endswith(b"\n"):
                line = file.readline(LINE)
        elif line.strip():
            try:
                yield parse_json(line)
            except ValueError:
                faults["line is not JSON"] += 1


class _Rejoined:
    """A file whose beginning has been read."""

    def __init__(self, begin: bytes, rest: BufferedReader) -> None:
        self._begin = BytesIO(begin.removeprefix(b"\xef\xbb\xbf"))
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes."""
        return self._begin.read(size) or self._rest.read(size)


def _read_document(file: _Rejoined, faults: Counter[str]) -> Iterator[Any]:
    """Yield the items of one JSON document, with at most one item in memory at a time."""
    try:
        import ijson
    except ImportError:
        raise AssayError(f"traces: {hint_extra('traces')}") from None
    items = _Items(faults)
    events = ijson.sendable_list()
    parser = ijson.basic_parse_coro(events, multiple_values=True, use_float=True)
    silent = 0  # bytes since the last event, within one long text
    with suppress(_ExcessError):
        try:
            while content := file.read(CHUNK):
                parser.send(content)
                silent = 0 if events else silent + len(content)
                if silent > DOCUMENT:
                    faults[f"text of more than {DOCUMENT // MEGABYTE} MB"] += 1
                    return
                yield from items.take(events)
                events.clear()
            parser.close()
        except ijson.IncompleteJSONError:
            faults[TORN] += 1
        except ijson.JSONError:
            yield from items.take(events)  # the items before the error
            faults["document is not JSON from some place on"] += 1


class _ExcessError(Exception):
    """The error for a document that exceeds a bound; the rest of it is not read."""


class _Items:
    """A builder of the items of a document from the events of its parser."""

    def __init__(self, faults: Counter[str]) -> None:
        self._faults = faults
        self._path: list[str] = []  # the keys of the parser's current place
        self._around = _Object()  # the value outside items
        self._item: _Object | None = None
        self._depth = 0  # length of the path of the item

    def take(self, events: Iterable[tuple[str, Any]]) -> Iterator[Any]:
        """Yield the items completed by `events`. Raises _ExcessError, and counts the fault."""
        path = self._path
        for event, value in events:
            if event == "map_key":
                path[-1] = value
            elif event in ENDS:
                path.pop()
            elif event == "start_map" and self._item is None and tuple(path) in PLACES:
                self._item, self._depth = _Object(), len(path)
            if event in KEYS:
                if len(path) == JSON_DEPTH:
                    self._faults[f"document nested more than {JSON_DEPTH} deep"] += 1
                    raise _ExcessError
                path.append(KEYS[event])
            (self._item or self._around).add(event, value)
            if event == "end_map" and self._item and len(path) == self._depth:
                yield from self._end(self._item)
                self._item = None
            elif event in ENDS and not path:
                around, self._around = self._around, _Object()
                if not _is_container(around.value):
                    yield from self._end(around)

    def _end(self, item: "_Object") -> Iterator[Any]:
        if item.size > LINE:
            self._faults[f"object of more than {LINE // MEGABYTE} MB"] += 1
        else:
            yield item.value


class _Object:
    """A value that is being read; the content of one that is too large is only measured."""

    def __init__(self) -> None:
        from ijson import ObjectBuilder

        self.size = 0
        self._builder = ObjectBuilder()

    @property
    def value(self) -> Any:
        """The value read so far."""
        return self._builder.value

    def add(self, event: str, value: Any) -> None:
        """Add an event of the parser."""
        self.size += VALUE + (len(value) if isinstance(value, str) else 0)
        if self.size <= LINE:
            self._builder.event(event, value)


def _is_container(rest: Any) -> bool:
    """Return True if a value is the container of items that have been yielded."""
    return not isinstance(rest, Mapping) or any(
        isinstance(rest.get(place[0]), list) for place in PLACES
    )


def _read_parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table, as Phoenix's client writes it."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise AssayError(f"traces: {hint_extra('traces')}") from None
    try:
        left = limit = limit_unpacked(path)
        for batch in ParquetFile(path).iter_batches(batch_size=ROWS):
            left -= max(batch.nbytes, batch.num_rows)  # an empty row takes time, too
            if left < 0:
                raise BoundError(path, describe_unpacked(limit))
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
