"""Files made of a stored run for other tools: TREC run and qrels, per-query table."""

from eval import measures
from eval.runs import StoredRun, write_atomically
from eval.summary import Summary

RUN = "run.trec"
QRELS = "qrels.trec"
PER_QUERY = "per_query.parquet"


def export(summary: Summary) -> None:
    """Write the TREC run, the qrels and the per-query table into the run's folder.

    The TREC files are those the measures were computed on: at each rank stands the id of the gold
    item that counts there, else the chunk's own id; white space in ids becomes `_`.
    """
    run = summary.run
    write_atomically(run.folder / RUN, _trec_run(run).encode())
    write_atomically(run.folder / QRELS, _trec_qrels(run).encode())
    write_atomically(run.folder / PER_QUERY, _per_query(summary))


def _trec_run(run: StoredRun) -> str:
    lines = []
    for query, scores in measures.run(run.joined).items():
        for rank, (id_, score) in enumerate(scores.items(), start=1):
            lines.append(f"{_word(query)} Q0 {_word(id_)} {rank} {score:g} {run.manifest.name}\n")
    return "".join(lines)


def _trec_qrels(run: StoredRun) -> str:
    return "".join(
        f"{_word(query)} 0 {_word(id_)} {grade}\n"
        for query, grades in measures.qrels(run.joined, run.gold).items()
        for id_, grade in grades.items()
    )


def _per_query(summary: Summary) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    queries = summary.run.queries
    timed = {item.query_id: item.milliseconds["total"] for item in summary.run.latency}
    columns = {
        "query_id": list(queries),
        "type": [query.type for query in queries.values()],
        "text": [query.text for query in queries.values()],
        **{name: [scores[id_] for id_ in queries] for name, scores in summary.scores.items()},
        "milliseconds": pa.array([timed.get(id_) for id_ in queries], pa.float64()),
    }
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


def _word(text: str) -> str:
    return "_".join(text.split())
