"""The queries of a run as rows: scores, time, and the rank of the first relevant passage."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from assay.eval.report import formats
from assay.eval.runs.latency import TOTAL, LatencySample
from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.measures import choose_headline

SHOWN = 10
MOST_ROWS = 10_000  # of the table of all queries; a browser shows no more in good time
COLUMNS = ("nDCG@10", "MRR@10", "Recall@10")
BUCKETS = ((1, 1), (2, 3), (4, 5), (6, 10), (11, 20))


@dataclass(frozen=True)
class QueryRow:
    """One query. `scores` are (measure, value) pairs, the primary measure first.

    `found_at` is the rank of the first relevant passage, None when there was none; `milliseconds`
    is None for a query that was not timed, and `slowest_stage` then empty.
    """

    id: str
    text: str
    type: str
    scores: tuple[tuple[str, float], ...]
    found_at: int | None
    bucket: str
    milliseconds: float | None
    slowest_stage: str
    degraded: tuple[str, ...]

    @property
    def score(self) -> float:
        """The primary measure."""
        return self.scores[0][1]

    @property
    def shown_milliseconds(self) -> str:
        """The time as it is printed; empty for a query that was not timed."""
        return "" if self.milliseconds is None else formats.amount(self.milliseconds)


@dataclass(frozen=True)
class Bar:
    """The number of queries whose first relevant passage is in a range of ranks."""

    label: str
    queries: int
    share: float


def primary(summary: Summary) -> str:
    """Return the measure by which queries are called good or bad."""
    return choose_headline(summary.scores)


def query_rows(summary: Summary) -> tuple[QueryRow, ...]:
    """Return one row per query, in the collection's order."""
    first = primary(summary)
    shown = dict.fromkeys([first, *(name for name in COLUMNS if name in summary.scores)])
    timed = {sample.query_id: sample for sample in summary.run.latency}
    return tuple(
        _query_row(
            summary, id_, [(name, summary.scores[name][id_]) for name in shown], timed.get(id_)
        )
        for id_ in summary.run.queries
    )


def worst(rows: Sequence[QueryRow]) -> tuple[QueryRow, ...]:
    """Return the ten rows of lowest score below 1; among equal scores, those found later first."""
    return tuple(row for row in by_score(rows)[:SHOWN] if row.score < 1)


def by_score(rows: Sequence[QueryRow]) -> list[QueryRow]:
    """Return all rows, the worst first."""
    return sorted(rows, key=lambda row: (row.score, -(row.found_at or float("inf"))))


def slowest(rows: Sequence[QueryRow]) -> tuple[QueryRow, ...]:
    """Return the ten slowest of the timed rows."""
    timed = [row for row in rows if row.milliseconds is not None]
    return tuple(sorted(timed, key=lambda row: -(row.milliseconds or 0.0))[:SHOWN])


def listed(rows: Sequence[QueryRow], kept: Sequence[QueryRow]) -> tuple[QueryRow, ...]:
    """Return the rows of the table in their order: all or, of many, the worst and `kept`."""
    if len(rows) <= MOST_ROWS:
        return tuple(rows)
    ids = dict.fromkeys(row.id for row in [*kept, *by_score(rows)])
    chosen = set(islice(ids, MOST_ROWS))
    return tuple(row for row in rows if row.id in chosen)


def bars(rows: Sequence[QueryRow], depth: int) -> tuple[Bar, ...]:
    """Count the queries by the rank of their first relevant passage, best first, none last."""
    labels = dict.fromkeys(_bucket(rank, depth) for rank in range(1, depth + 1))
    counts = {label: sum(row.bucket == label for row in rows) for label in [*labels, "none"]}
    most = max(counts.values(), default=0) or 1
    return tuple(
        Bar(label, number, round(100 * number / most, 2)) for label, number in counts.items()
    )


def _query_row(
    summary: Summary, id_: str, scores: list[tuple[str, float]], sample: LatencySample | None
) -> QueryRow:
    query = summary.run.queries[id_]
    run = summary.run
    places = run.joined.list_places(id_)
    found_at = next((column + 1 for _, column, hit in places if hit.found), None)
    return QueryRow(
        id=id_,
        text=query.text,
        type=query.type,
        scores=tuple(scores),
        found_at=found_at,
        bucket=_bucket(found_at, run.manifest.depth) if found_at else "none",
        milliseconds=sample.milliseconds[TOTAL] if sample else None,
        slowest_stage=_slowest_stage(sample) if sample else "",
        degraded=run.rankings[id_].degraded if run.manifest.degraded else (),
    )


def _bucket(rank: int, depth: int) -> str:
    """Return the range of ranks that `rank` falls in."""
    for low, high in BUCKETS:
        if rank <= high:
            return _range(low, min(high, depth))
    return _range(BUCKETS[-1][1] + 1, depth)


def _range(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low}–{high}"


def _slowest_stage(sample: LatencySample) -> str:
    stages = {name: taken for name, taken in sample.milliseconds.items() if name != TOTAL}
    if not stages:
        return ""
    name = max(stages, key=lambda stage: stages[stage])
    return f"{name} {formats.percent(stages[name] / sample.milliseconds[TOTAL])}"
