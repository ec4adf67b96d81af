"""Tables given as Python objects (mappings, rows or DataFrames), as rows of named values."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isnan
from numbers import Real
from pathlib import Path
from typing import Any

from assay.eval.collections.formats.rows import (
    GRADES,
    KINDS,
    PLACES,
    Row,
    RowError,
    describe_ungraded,
)
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError

Table = Mapping[Any, Any] | Iterable[Any]  # a DataFrame is the latter


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table: the names that each value may have, and the required values."""

    table: str
    names: Mapping[str, Sequence[str]]
    required: Sequence[str]


DOCUMENTS = Columns(
    "documents",
    {
        "doc_id": ("doc_id", "_id", "docno", "docid", "id"),
        "text": ("text",),
        "title": ("title",),
        "metadata": ("metadata",),
    },
    ("doc_id", "text"),
)
QUERIES = Columns(
    "queries",
    {
        "query_id": ("query_id", "_id", "qid", "query-id", "id"),
        "text": ("text", "query"),
        "type": ("type",),
        "filter": ("filter",),
        "principal": ("principal",),
        "group": ("group",),
    },
    ("query_id", "text"),
)
JUDGMENTS = Columns(
    "judgments",
    {
        "query_id": ("query_id", "qid", "query-id"),
        "path": ("doc_id", "docno", "docid", "corpus-id"),
        "grade": GRADES,
        "start": ("start",),
        "end": ("end",),
        "quote": ("quote",),
        "target": ("target",),  # an id or a quote, where a mapping gives either
    },
    ("query_id",),
)
IDS = ("doc_id", "query_id", "path", "group")
NUMBERS = ("grade", *PLACES)
# The values in a list of judgments, by its length.
TUPLES = {
    2: ("target", "grade"),
    3: ("doc_id", "start", "end"),
    4: ("doc_id", "start", "end", "grade"),
}
ALLOWED = (
    "allowed: a document's id, a quote, (document, grade), (document, start, end) and "
    "(document, start, end, grade)"
)


def read_rows(table: Table, columns: Columns, problems: Problems) -> Iterator[Row]:
    """Yield the rows of a table by the names used here."""
    for row in _list_rows(table, columns.table):
        with problems.of(row):
            yield replace(row, values=_rename(row.values, columns))


def _list_rows(table: Any, name: str) -> Iterator[Row]:
    """Yield the rows as they are given; of a mapping a row is named by its keys."""
    if isinstance(table, Mapping):
        for key, value in table.items():
            if name == JUDGMENTS.table:
                yield from _list_judgments(key, value)
            else:
                ids = {"id": key} if name == DOCUMENTS.table else {"query_id": key}
                yield Row(Path(f"{name}[{key!r}]"), 0, {**_as_mapping(value, "text"), **ids})
        return
    if hasattr(table, "to_dict") and hasattr(table, "index"):
        named = any(level is not None for level in table.index.names)
        table = (table.reset_index() if named else table).to_dict("records")
    if isinstance(table, str) or not isinstance(table, Iterable):
        raise AssayError(
            f"{name}: must be a mapping, a DataFrame or rows, not {type(table).__name__}"
        )
    for number, value in enumerate(table, start=1):
        yield Row(Path(name), number, _as_mapping(value, "text"))


def _list_judgments(query: Any, judged: Any) -> Iterator[Row]:
    if isinstance(judged, Mapping):
        for document, grade in judged.items():
            place = Path(f"judgments[{query!r}][{document!r}]")
            yield Row(place, 0, {"query_id": query, "doc_id": document, "grade": grade})
        return
    listed = [judged] if isinstance(judged, str) or not isinstance(judged, Iterable) else judged
    for i, value in enumerate(listed):
        given = _as_mapping(value, "target")
        yield Row(Path(f"judgments[{query!r}][{i}]"), 0, {**given, "query_id": query})


def _as_mapping(value: Any, single: str) -> Mapping[Any, Any]:
    """Return the values of a row by name; one that is not several goes by the name `single`."""
    if isinstance(value, Mapping):
        return value
    if hasattr(value, "_asdict"):
        named: Mapping[Any, Any] = value._asdict()
        return named
    if isinstance(value, tuple | list) and single == "target" and len(value) in TUPLES:
        return dict(zip(TUPLES[len(value)], value, strict=True))
    return {single: value}


def _rename(given: Mapping[Any, Any], columns: Columns) -> dict[str, Any]:
    """Return the values of a row by the names used here, as plain Python values.

    Raises RowError where one that is needed is missing.
    """
    values = {}
    folded = _fold(tuple(given))
    for name, allowed in columns.names.items():
        called = next((folded[key] for key in allowed if key in folded), None)
        value = None if called is None else _as_plain(name, given[called])
        if value is not None:
            values[name] = value
        elif called is not None and (name in columns.required or name == "grade"):
            raise RowError(f'"{called}" is {given[called]}; every row needs one')
        elif name in columns.required:
            keys = ", ".join(map(str, given)) or "none"
            raise RowError(f"{name} is missing; allowed keys: {', '.join(allowed)}; here: {keys}")
    if columns is JUDGMENTS and not {"path", "quote", "target"} & values.keys():
        keys = ", ".join(map(str, given))
        allowed = ", ".join((*columns.names["path"], "quote"))
        raise RowError(f"no document is named; allowed keys: {allowed}; here: {keys}")
    if columns is JUDGMENTS and "grade" not in values:
        known = {key for allowed in columns.names.values() for key in allowed}
        for name in (folded[key] for key in folded if key not in known):
            if isinstance(given[name], Real) and not isinstance(given[name], bool):
                raise RowError(describe_ungraded(str(name)))
    return values


@lru_cache(maxsize=8)
def _fold(names: tuple[Any, ...]) -> dict[str, Any]:
    """Return the names of a row's values by how they are looked up."""
    return {str(name).strip().casefold(): name for name in reversed(names)}


def _as_plain(name: str, value: Any) -> Any:
    """Return a value without the types of numpy and pandas; None where nothing is given."""
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "item"):
        value = value.item()
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    if missing or (isinstance(value, float) and isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer() and name in (*IDS, *NUMBERS):
        value = int(value)  # pandas makes floats of a column of numbers that lacks some
    if isinstance(value, bool) and name in NUMBERS:
        value = int(value)
    if isinstance(value, int) and name in IDS:
        value = str(value)
    if isinstance(value, str):
        value = str(value)
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise RowError(f'"{name}" holds half a surrogate pair, which is no character')
    if name == "metadata":
        try:
            return json.loads(json.dumps(value))
        except (TypeError, ValueError):
            raise RowError('"metadata" must be an object of JSON values') from None
    if name == "target" and not isinstance(value, str):
        raise RowError(f"{value!r} is no judgment; {ALLOWED}")
    if type(value) not in KINDS:
        raise RowError(f'"{name}" is a {type(value).__name__}; allowed: a string or a number')
    return value
