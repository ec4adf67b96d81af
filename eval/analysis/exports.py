"""Files made of a stored run for other tools: TREC run, qrels, per-query table, attribution."""

import json
from typing import TYPE_CHECKING

from eval.analysis.summary import Summary
from eval.runs.stored import StoredRun
from eval.scoring import calculation
from retrievers.store.files import write_atomically

if TYPE_CHECKING:
    from pyarrow import Table

RUN = "run.trec"
QRELS = "qrels.trec"
PER_QUERY = "per_query.parquet"
ATTRIBUTION = "attribution.json"


def export(summary: Summary) -> None:
    """Write the TREC run, the qrels, the per-query table and the attribution into the run's folder.

    The TREC files are those the measures were computed on: at each rank stands the id of the gold
    item that counts there, else the chunk's own id; white space in ids becomes `_`.
    """
    run = summary.run
    write_atomically(run.folder / RUN, _trec_run(run).encode())
    write_atomically(run.folder / QRELS, _trec_qrels(run).encode())
    write_atomically(run.folder / PER_QUERY, _per_query(summary))
    write_atomically(run.folder / ATTRIBUTION, _attribution(summary).encode())


def _trec_run(run: StoredRun) -> str:
    lines = []
    for query, scores in calculation.run(run.joined).items():
        for rank, (id_, score) in enumerate(scores.items(), start=1):
            lines.append(f"{_word(query)} Q0 {_word(id_)} {rank} {score:g} {run.manifest.name}\n")
    return "".join(lines)


def _trec_qrels(run: StoredRun) -> str:
    return "".join(
        f"{_word(query)} 0 {_word(id_)} {grade}\n"
        for query, grades in calculation.qrels(run.joined, run.gold).items()
        for id_, grade in grades.items()
    )


def tabulate_queries(summary: Summary) -> "Table":
    """Return a row a query: id, type, text, its score in each measure, and its milliseconds."""
    import pyarrow as pa

    queries = summary.run.queries
    timed = {item.query_id: item.milliseconds["total"] for item in summary.run.latency}
    columns = {
        "query_id": list(queries),
        "type": [query.type for query in queries.values()],
        "text": [query.text for query in queries.values()],
        **{name: [scores[id_] for id_ in queries] for name, scores in summary.scores.items()},
        "milliseconds": pa.array([timed.get(id_) for id_ in queries], pa.float64()),
    }
    return pa.table(columns)


def _per_query(summary: Summary) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(tabulate_queries(summary), sink)
    return bytes(sink.getvalue())


def _attribution(summary: Summary) -> str:
    attribution = summary.attribution
    items = {
        query: [item.as_json() for item in fates] for query, fates in attribution.items.items()
    }
    return json.dumps({**attribution.as_json(), "queries": items}, ensure_ascii=False, indent=1)


def _word(text: str) -> str:
    return "_".join(text.split())
