"""Files of a stored run for other tools: TREC run, qrels, items, per-query table, attribution."""

import csv
import io
import json
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring import calculation
from assay.eval.scoring.join import fill_places
from assay.retrievers.store.files import write_atomically

if TYPE_CHECKING:
    from pyarrow import Array, Table

RUN = "run.trec"
QRELS = "qrels.trec"
ITEMS = "items.csv"
PER_QUERY = "per_query.parquet"
PER_QUERY_CSV = "per_query.csv"
ATTRIBUTION = "attribution.json"
FILES = (RUN, QRELS, ITEMS, PER_QUERY, PER_QUERY_CSV, ATTRIBUTION)


def export(summary: Summary) -> None:
    """Write TREC run, qrels, items, per-query table and attribution into the run's folder.

    The TREC files are those the rank measures were computed on: a line a place, in falling order of
    scores, with the id of the gold item that has the place, else of the chunk, and the rank of its
    hit. The items are a line a hit, and one more for each further item that counts there. White
    space in ids becomes `_`.
    """
    run = summary.run
    write_atomically(run.folder / RUN, _trec_run(run).encode())
    write_atomically(run.folder / QRELS, _trec_qrels(run).encode())
    write_atomically(run.folder / ITEMS, _items(run).encode())
    table = tabulate_queries(summary)
    write_atomically(run.folder / PER_QUERY, _as_parquet(table))
    write_atomically(run.folder / PER_QUERY_CSV, _as_csv(table).encode())
    write_atomically(run.folder / ATTRIBUTION, _attribution(summary).encode())


def _trec_run(run: StoredRun) -> str:
    lines = []
    name = as_word(run.manifest.name)
    for query, hits in run.joined.items():
        places, word = fill_places(hits), as_word(query)
        for score, place in zip(range(len(places), 0, -1), places, strict=True):
            lines.append(f"{word} Q0 {as_word(place.id)} {place.rank} {score} {name}\n")
    return "".join(lines)


def _items(run: StoredRun) -> str:
    rows: list[tuple[str | int, ...]] = [("query", "rank", "chunk", "tokens", "item", "grade")]
    chunks: dict[str, tuple[str, int]] = {}
    for query, hits in run.joined.items():
        word = as_word(query)
        for rank, hit in enumerate(hits, start=1):
            if (chunk := chunks.get(id_ := hit.name)) is None:
                chunk = chunks[id_] = as_word(id_), calculation.count_tokens(hit.chunk)
            if hit.found:
                rows += [(word, rank, *chunk, as_word(item.id), item.grade) for item in hit.found]
            else:
                rows.append((word, rank, *chunk, "", 0))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _trec_qrels(run: StoredRun) -> str:
    return "".join(
        f"{as_word(query)} 0 {as_word(id_)} {grade}\n"
        for query, grades in calculation.qrels(run.joined, run.gold).items()
        for id_, grade in grades.items()
    )


def tabulate_queries(summary: Summary) -> "Table":
    """Return a row a query: id, type, text, its score in each measure, and its milliseconds."""
    import pyarrow as pa

    queries = summary.run.queries
    timed = {item.query_id: item.milliseconds["total"] for item in summary.run.latency}
    columns = {
        "query_id": _as_strings(queries),
        "type": _as_strings(query.type for query in queries.values()),
        "text": _as_strings(query.text for query in queries.values()),
        **{
            name: _as_numbers(map(scores.__getitem__, queries))
            for name, scores in summary.scores.items()
        },
        "milliseconds": _as_numbers(map(timed.get, queries)),
    }
    return pa.table(columns)


# Of buffers, since what makes an array of a list imports pandas, for half a second.
def _as_strings(values: Iterable[str]) -> "Array[Any]":
    import pyarrow as pa

    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)])
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers).cast(pa.string())


def _as_numbers(values: Iterable[float | None]) -> "Array[Any]":
    import pyarrow as pa

    numbers = np.array(list(values), dtype=float)  # not a number where there is none
    known = np.packbits(~np.isnan(numbers), bitorder="little")
    buffers = [pa.py_buffer(known), pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.float64(), len(numbers), buffers)


def _as_parquet(table: "Table") -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    return bytes(sink.getvalue())


def _as_csv(table: "Table") -> str:
    """Return the table for spreadsheets: a line a query, nothing where there is no value."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(table.column_names)
    rows.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return text.getvalue()


def _attribution(summary: Summary) -> str:
    attribution = summary.attribution
    items = {
        query: [item.as_json() for item in statuses]
        for query, statuses in attribution.items.items()
    }
    # Indented, it takes ten times as long to write.
    return json.dumps({**attribution.as_json(), "queries": items}, ensure_ascii=False) + "\n"


@lru_cache(maxsize=2**16)
def as_word(text: str) -> str:
    """Return an id as the files have it, which part their columns by white space."""
    return "_".join(text.split())
