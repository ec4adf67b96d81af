"""The queries whose scores changed since the baseline."""

from dataclasses import dataclass

from assay.eval.runs.stored import StoredRun
from assay.eval.scoring.measures import find
from assay.eval.statistics.significance import TIE
from assay.eval.studies.gate.rebuild import Rebuild, Scores


@dataclass(frozen=True, slots=True)
class QueryChange:
    """A query whose score in `measure` changed, with both scores."""

    query: str
    type: str
    text: str
    measure: str
    base: float
    head: float


def list_losers(base: Scores, head: StoredRun, scores: Scores, measure: str) -> list[QueryChange]:
    """Return the queries of `head` that score worse than in `base`, largest loss first."""
    sign = find(measure).sign
    found = [
        QueryChange(id_, query.type, query.text, measure, before, after)
        for id_, query in head.queries.items()
        if sign * ((after := scores[id_][measure]) - (before := base[id_][measure])) < -TIE
    ]
    return sorted(found, key=lambda item: (sign * (item.head - item.base), item.query))


def is_broken(lost: QueryChange, rebuild: Rebuild | None) -> bool:
    """Return True if a query that scores worse does so in every build of the index."""
    if rebuild is None:
        return True
    again, sign = rebuild.scores, find(lost.measure).sign
    return again is not None and sign * (again[lost.query][lost.measure] - lost.base) < -TIE
