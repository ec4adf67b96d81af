"""Rankings in a DataFrame, as hits that `retrievers.base.answers` reads."""

from typing import TYPE_CHECKING, Any

from retrievers.base import AssayError
from retrievers.base.answers import IDS

if TYPE_CHECKING:
    from pandas import DataFrame

QUERY_IDS = ("query_id", "qid")


def list_answers(frame: "DataFrame") -> dict[str, list[dict[str, Any]]]:
    """Return the hits of each query of a DataFrame, as `read_answer` takes them.

    It has the columns of ir_measures or PyTerrier: query_id or qid; doc_id or docno; score, or
    else rank; and, if you like, start and end. Raises AssayError where one is missing.
    """
    columns = list(frame.columns)
    query = next((name for name in QUERY_IDS if name in columns), None)
    if query is None or not set(IDS) & set(columns) or not {"score", "rank"} & set(columns):
        raise AssayError(
            f"rankings: a DataFrame needs the columns {' or '.join(QUERY_IDS)}, "
            f"{' or '.join(IDS)}, score or rank; there are: {', '.join(map(str, columns))}"
        )
    answers: dict[str, list[dict[str, Any]]] = {}
    for row in frame.to_dict("records"):
        hit = {name: value for name, value in row.items() if name in (*IDS, "score")}
        if "score" not in row:
            hit["score"] = -row["rank"]
        if "start" in row and row["start"] == row["start"]:  # NaN marks a whole document
            hit |= {"start": int(row["start"]), "end": int(row["end"])}
        answers.setdefault(str(row[query]), []).append(hit)
    return answers
