"""Rankings in a DataFrame, as hits that `assay.retrievers.base.answers` reads."""

import math
from typing import TYPE_CHECKING, Any

from assay.retrievers.base import AssayError
from assay.retrievers.base.answers import IDS

if TYPE_CHECKING:
    from pandas import DataFrame

QUERY_IDS = ("query_id", "qid")


def list_answers(frame: "DataFrame") -> dict[str, list[dict[str, Any]]]:
    """Return the hits of each query of a DataFrame, best first, as `read_answer` takes them.

    It has the columns of ir_measures or PyTerrier: query_id or qid; doc_id or docno; rank or score;
    optionally start and end. Ranks order the hits, else falling scores; equal ones stand as the
    rows do. Raises AssayError where a column is missing.
    """
    columns = list(frame.columns)
    query = next((name for name in QUERY_IDS if name in columns), None)
    by = next((name for name in ("rank", "score") if name in columns), None)
    if query is None or by is None or not set(IDS) & set(columns):
        raise AssayError(
            f"rankings: a DataFrame needs the columns {' or '.join(QUERY_IDS)}, "
            f"{' or '.join(IDS)}, rank or score; there are: {', '.join(map(str, columns))}"
        )
    rows = frame.to_dict("records")
    for row in rows:
        if not isinstance(row[by], int | float) or not math.isfinite(row[by]):
            raise AssayError(
                f"rankings: query {row[query]}: the {by} {row[by]!r} is not a finite number"
            )
    rows.sort(key=lambda row: row["rank"] if by == "rank" else -row["score"])
    answers: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        hit = {name: value for name, value in row.items() if name in (*IDS, "score")}
        if "start" in row and row["start"] == row["start"]:  # NaN marks a whole document
            hit |= {"start": int(row["start"]), "end": int(row["end"])}
        answers.setdefault(str(row[query]), []).append(hit)
    return answers
