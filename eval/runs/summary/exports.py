"""Files of a stored run for other tools: TREC run, qrels, items, per-query table, attribution."""

import csv
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from assay.eval.collections.formats.cells import arm, render_table
from assay.eval.runs.files import encode_json
from assay.eval.runs.json_form import to_json
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring import calculation
from assay.eval.scoring.join import fill_places
from assay.retrievers.base.installation import need_pandas
from assay.retrievers.store.files import open_atomically, write_atomically

if TYPE_CHECKING:
    from pandas import DataFrame

RUN = "run.trec"
QRELS = "qrels.trec"
ITEMS = "items.csv"
PER_QUERY = "per_query.csv"
ATTRIBUTION, MEANS = "attribution.json", "means.json"
FILES = (RUN, QRELS, ITEMS, PER_QUERY, ATTRIBUTION, MEANS)
ABOUT = ("query_id", "type", "text")  # columns of that table that are no numbers
NO_MEASURES = (*ABOUT, "milliseconds")

NOT_IN_WORDS = re.compile(r"\s|\\(?=x[0-9a-f]{2}|u[0-9a-f]{4})")

QueryTable = dict[str, list[Any]]


def export(summary: Summary) -> None:
    """Write TREC run, qrels, items, per-query table, attribution and means into the run's folder.

    The TREC files are those the rank measures were computed on: a line a place, in falling order of
    scores, with the id of the gold item that has the place, else of the chunk, and the rank of its
    hit. The items are a line a hit, and one more for each further item that counts there. Ids with
    white space are as `as_word` gives them.
    """
    run = summary.run
    with open_atomically(run.folder / RUN) as trec:
        _write_trec(run, trec)
    with open_atomically(run.folder / ITEMS) as items:
        _write_items(run, items)
    write_atomically(run.folder / QRELS, _trec_qrels(run).encode())
    table = tabulate_queries(summary)
    rows = [table, *zip(*table.values(), strict=True)]  # nothing where there is no value
    write_atomically(run.folder / PER_QUERY, render_table(rows).encode())
    write_atomically(run.folder / ATTRIBUTION, _attribution(summary).encode())
    write_atomically(run.folder / MEANS, encode_json(_means(summary)))


def _write_trec(run: StoredRun, file: BinaryIO) -> None:
    joined, name = run.joined, as_word(run.manifest.name)
    ids = [f" Q0 {as_word(chunk.id)} " for chunk in run.lists.chunks]
    ends: dict[int, list[str]] = {}  # of the lines of a query, by how many they are
    for query in joined:
        judged, word = joined.list_places(query), as_word(query)
        if any(len(hit.found) > 1 for _, _, hit in judged):
            places = fill_places(joined[query])
            lines = [
                f"{word} Q0 {as_word(place.id)} {place.rank} {score} {name}\n"
                for score, place in zip(range(len(places), 0, -1), places, strict=True)
            ]
        else:  # as nearly always, and then each hit has its own place
            hits = [ids[number] for number in joined.list_numbers(query)]
            for _, column, hit in judged:
                hits[column] = f" Q0 {as_word(hit.found[0].id if hit.found else hit.name)} "
            if (size := len(hits)) not in ends:
                ends[size] = [f"{i + 1} {size - i} {name}\n" for i in range(size)]
            lines = [f"{word}{hit}{end}" for hit, end in zip(hits, ends[size], strict=True)]
        file.write("".join(lines).encode())


def _write_items(run: StoredRun, file: BinaryIO) -> None:
    joined, tokens = run.joined, run.joined.tokens.tolist()
    words = [as_word(chunk.id) for chunk in run.lists.chunks]
    unjudged = [f"{_as_cells(*cells)},,0\n" for cells in zip(words, tokens, strict=True)]
    ranks = [f",{rank}," for rank in range(1, int(np.diff(joined.ends).max(initial=0)) + 1)]
    file.write(b"query,rank,chunk,tokens,item,grade\n")
    for query in joined:
        numbers, word = joined.list_numbers(query), as_word(query)
        cell = _as_cells(word)
        lines = [f"{cell}{rank}{unjudged[n]}" for rank, n in zip(ranks, numbers, strict=False)]
        for _, column, hit in joined.list_places(query):
            begin = word, column + 1, as_word(hit.name), tokens[numbers[column]]
            found = [(as_word(item.id), item.grade) for item in hit.found] or [("", 0)]
            lines[column] = "".join(f"{_as_cells(*begin, *item)}\n" for item in found)
        file.write("".join(lines).encode())


def _as_cells(*values: str | int) -> str:
    """Return values as CSV cells."""
    return render_table([values]).removesuffix("\r\n")


def _trec_qrels(run: StoredRun) -> str:
    return "".join(
        f"{as_word(query)} 0 {as_word(id_)} {grade}\n"
        for query, grades in calculation.qrels(run.joined.condensed, run.gold).items()
        for id_, grade in grades.items()
    )


def tabulate_queries(summary: Summary) -> QueryTable:
    """Return the columns of a row a query: id, type, text, a score a measure, and milliseconds."""
    queries = summary.run.queries
    timed = {item.query_id: item.milliseconds["total"] for item in summary.run.latency}
    return {
        "query_id": list(queries),
        "type": [query.type for query in queries.values()],
        "text": [query.text for query in queries.values()],
        **{
            name: [float(scores[query]) for query in queries]
            for name, scores in summary.scores.items()
        },
        "milliseconds": list(map(timed.get, queries)),
    }


def read_queries(path: Path) -> QueryTable:
    """Return the table of `tabulate_queries`. Raises OSError, or ValueError if it is damaged."""
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return {
        arm(name): [arm(cell) for cell in cells]
        if name in ABOUT
        else [float(cell) if cell else None for cell in cells]
        for name, cells in zip(names, zip(*rows, strict=True), strict=True)
    }


def frame_queries(table: QueryTable) -> "DataFrame":
    """Return the table as a DataFrame by query id, NaN where there is no value."""
    need_pandas()
    from pandas import DataFrame

    columns = {
        name: column if name in ABOUT else np.array(column, dtype=float)
        for name, column in table.items()
    }
    return DataFrame(columns).set_index("query_id")


def _attribution(summary: Summary) -> str:
    attribution = summary.attribution
    items = {query: to_json(statuses) for query, statuses in attribution.items.items()}
    # Indented, it takes ten times as long to write.
    return json.dumps({**to_json(attribution), "queries": items}, ensure_ascii=False) + "\n"


def _means(summary: Summary) -> dict[str, Any]:
    """Return the figures in lists of runs: the means with intervals, and the median latency."""
    timed = summary.latency.get(TOTAL)
    return {
        "queries": len(summary.run.queries),
        "measures": {
            name: {"mean": mean.value, "low": mean.low, "high": mean.high}
            for name, mean in summary.means.items()
        },
        "p50_milliseconds": timed["p50"].value if timed else None,
    }


@lru_cache(maxsize=2**16)
def as_word(text: str) -> str:
    r"""Return an id for files whose columns are separated by white space.

    White space is escaped, a blank as `\x20`, and so is a backslash that begins what looks like
    such an escape: no two ids become one, and nearly all stand as they are.
    """
    return NOT_IN_WORDS.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
