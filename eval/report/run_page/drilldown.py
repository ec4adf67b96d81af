"""Data of single queries for the page: passages, gold and the trace of stages, as JSON values.

The text of a passage is stored once, however many queries retrieved it.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import Any

from assay.eval.collections.collection import GoldItem
from assay.eval.report import formats
from assay.eval.report.run_page.excerpts import GoldExcerpts, PassageTable, list_pieces
from assay.eval.report.run_page.queries import QueryRow, by_score
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.join import JoinedHit

ENDINGS = {"refusal": "refused", "length": "cut off", "unasked": "not answered"}
SHOWN_HITS = 10
SHOWN_GOLD = 20
TRACED_GOLD = 6
MOST_QUERIES = 1000  # with a drill-down; keeps the page of a large collection readable


def collect(summary: Summary, rows: Sequence[QueryRow], kept: Sequence[QueryRow]) -> dict[str, Any]:
    """Return the drill-downs: of all `rows`, or of a thousand, the worst and `kept` among them."""
    wanted = {row.id: row for row in [*kept, *by_score(rows)]}
    chosen = dict(islice(wanted.items(), MOST_QUERIES))
    library = GoldExcerpts(summary.run, PassageTable(count_shown(summary.run, chosen)))
    answers = _describe_given(summary)
    queries = [_detail(summary, row, library, answers) for row in rows if row.id in chosen]
    return {
        "depth": summary.run.manifest.depth,
        "passages": library.table.passages,
        "queries": queries,
    }


def count_shown(run: StoredRun, queries: Iterable[str]) -> int:
    """Return the number of different passages that the drill-downs of `queries` show."""
    return len({i for id_ in queries for i in run.joined.list_numbers(id_)[:SHOWN_HITS]})


def _describe_given(summary: Summary) -> dict[str, dict[str, Any]]:
    """Return, by query, the answer of a language model from its passages, if one was asked."""
    found = summary.answers.answers if summary.answers else ()
    return {
        item.query: {
            "text": item.answer,
            "said": ENDINGS.get(item.ending, "no answer" if item.abstained else ""),
            "cited": len(item.cited),
        }
        for item in found
    }


def _detail(
    summary: Summary, row: QueryRow, library: GoldExcerpts, answers: Mapping[str, Any]
) -> dict[str, Any]:
    run = summary.run
    relevant, joined = list_relevant(run, row.id), run.joined[row.id]
    statuses = {
        item.item.id: {"status": item.words, "lost": item.status != "found", "trail": item.trail}
        for item in summary.attribution.items[row.id]
    }
    return {
        "id": row.id,
        "text": row.text,
        "type": row.type,
        "scores": [[name, formats.score(value)] for name, value in row.scores],
        **describe_answer(run, row.id, relevant, library),
        "answer": answers.get(row.id),
        "gold": [
            describe_gold(item, joined, library) | statuses[item.id]
            for item in relevant[:SHOWN_GOLD]
        ],
        "more_gold": max(len(relevant) - SHOWN_GOLD, 0),
        "irrelevant": len(run.gold[row.id]) - len(relevant),
    }


def list_relevant(run: StoredRun, query: str) -> list[GoldItem]:
    """Return the relevant gold items of a query, the best grade first."""
    relevant = [item for item in run.gold[query] if item.grade > 0]
    return sorted(relevant, key=lambda item: -item.grade)


def describe_answer(
    run: StoredRun, query: str, relevant: list[GoldItem], library: GoldExcerpts
) -> dict[str, Any]:
    """Return the answer of a run to a query, how it came about, and the time it took."""
    joined = run.joined[query][:SHOWN_HITS]
    covering = library.list_covering(relevant[:TRACED_GOLD])
    times = library.times.get(query, {})

    def describe(row: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "ms": formats.amount(times[TOTAL]) if times else None,
            "degraded": list(row["degraded"]),
            "hits": [
                _hit(score, legs, hit, relevant, library)
                for (_, score, legs), hit in zip(row["hits"], joined, strict=False)
            ],
            "retrieved": len(row["hits"]),
            "stages": [_stage(entry, times, covering) for entry in row["trace"]],
        }

    return run.parse(query, describe)


def _hit(
    score: float,
    legs: Mapping[str, tuple[int, float]],
    joined: JoinedHit,
    relevant: list[GoldItem],
    library: GoldExcerpts,
) -> dict[str, Any]:
    chunk = joined.chunk
    detail: dict[str, Any] = {
        "passage": library.table.place(chunk),
        "score": f"{score:.4g}",
        "legs": [[name, rank, f"{of_leg:.4g}"] for name, (rank, of_leg) in legs.items()],
    }
    if joined.found:
        detail["grades"] = [item.grade for item in joined.found]
    covered = library.list_covered(chunk, relevant)
    if covered:
        detail["pieces"] = list_pieces(chunk, covered, library.table.excerpt)
    if joined.judged and not joined.found:
        detail["judged"] = "again" if covered else "irrelevant"
    return detail


def describe_gold(
    item: GoldItem, joined: Sequence[JoinedHit], library: GoldExcerpts
) -> dict[str, Any]:
    """Return a gold item and the rank at which it was found, None if it was not."""
    ranks = (rank for rank, hit in enumerate(joined, start=1) if item in hit.found)
    return {
        "document": item.doc_id,
        "place": _place(item),
        "grade": item.grade,
        "rank": next(ranks, None),
        "text": library.quote(item),
    }


def _place(item: GoldItem) -> str:
    if item.passage_id:
        return "" if item.passage_id == item.doc_id else f"passage {item.passage_id}"
    if item.id == item.doc_id:
        return "whole document"
    return f"characters {item.start:,} – {item.end:,}"


def _stage(
    entry: Sequence[Any], times: Mapping[str, float], covering: Sequence[Set[str]]
) -> dict[str, Any]:
    """Return a stage with the rank there of each gold item, of whose passages the ids are given.

    `entry` is that of a ranking's row. The rank is None if no candidate covers the item.
    """
    name, kind, milliseconds, candidates, note, *_ = entry
    ids = [id_ for id_, _ in candidates]
    return {
        "name": name,
        "kind": kind,
        "ms": formats.amount(times.get(name, milliseconds)),
        "candidates": len(ids),
        "gold": [
            next((rank for rank, id_ in enumerate(ids, start=1) if id_ in wanted), None)
            for wanted in covering
        ],
        "note": note,
    }
