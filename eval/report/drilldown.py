"""What the page tells of single queries: passages, gold, and the trace of stages, as JSON values.

The text of a passage is stored once, however many queries retrieved it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from eval.collections.collection import GoldItem
from eval.join import JoinedHit
from eval.latency import TOTAL
from eval.report import formats
from eval.report.excerpts import Library, list_pieces
from eval.report.queries import QueryRow, by_score
from eval.summary import Summary
from retrievers.base import Hit, StageTrace

SHOWN_HITS = 10
SHOWN_GOLD = 20
TRACED_GOLD = 6
MOST_QUERIES = 1000  # with a drill-down; keeps the page of a large collection readable


def collect(summary: Summary, rows: Sequence[QueryRow], kept: Sequence[QueryRow]) -> dict[str, Any]:
    """Return the drill-downs: of all `rows`, or of a thousand, the worst and `kept` among them."""
    chosen = {row.id: row for row in [*kept, *by_score(rows)][:MOST_QUERIES]}
    top = {
        hit.chunk.id: hit.chunk
        for id_ in chosen
        for hit in summary.run.rankings[id_].hits[:SHOWN_HITS]
    }
    library = Library(summary.run, list(top.values()))
    return {
        "depth": summary.run.manifest.depth,
        "passages": library.shelf,
        "queries": [_detail(summary, row, library) for row in rows if row.id in chosen],
    }


def _detail(summary: Summary, row: QueryRow, library: Library) -> dict[str, Any]:
    run = summary.run
    ranking, joined = run.rankings[row.id], run.joined[row.id]
    relevant = [item for item in run.gold[row.id] if item.grade > 0]
    relevant.sort(key=lambda item: -item.grade)
    covering = [library.covering(item) for item in relevant[:TRACED_GOLD]]
    sample = next((item for item in run.latency if item.query_id == row.id), None)
    times = sample.milliseconds if sample else {}
    return {
        "id": row.id,
        "text": row.text,
        "type": row.type,
        "scores": [[name, formats.score(value)] for name, value in row.scores],
        "ms": formats.amount(times[TOTAL]) if times else None,
        "degraded": list(row.degraded),
        "hits": [
            _hit(hit, at, relevant, library)
            for hit, at in zip(ranking.hits[:SHOWN_HITS], joined, strict=False)
        ],
        "retrieved": len(ranking.hits),
        "gold": [_gold(item, joined, library) for item in relevant[:SHOWN_GOLD]],
        "more_gold": max(len(relevant) - SHOWN_GOLD, 0),
        "irrelevant": len(run.gold[row.id]) - len(relevant),
        "stages": [_stage(entry, times, covering) for entry in ranking.trace],
    }


def _hit(hit: Hit, joined: JoinedHit, relevant: list[GoldItem], library: Library) -> dict[str, Any]:
    detail: dict[str, Any] = {
        "passage": library.places[hit.chunk.id],
        "score": f"{hit.score:.4g}",
        "legs": [[name, at.rank, f"{at.score:.4g}"] for name, at in hit.legs.items()],
    }
    if joined.found:
        detail["grades"] = [item.grade for item in joined.found]
    covered = [item for item in relevant if library.covers(hit.chunk, item)]
    if covered:
        detail["pieces"] = list_pieces(hit.chunk, covered, library.excerpt)
    if joined.judged and not joined.found:
        detail["judged"] = "again" if covered else "irrelevant"
    return detail


def _gold(item: GoldItem, joined: Sequence[JoinedHit], library: Library) -> dict[str, Any]:
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
    entry: StageTrace, times: Mapping[str, float], covering: Sequence[set[str]]
) -> dict[str, Any]:
    """Return a stage with the rank there of each gold item, of whose passages the ids are given.

    The rank is None where no candidate covers the item.
    """
    ids = [id_ for id_, _ in entry.candidates]
    return {
        "name": entry.name,
        "kind": entry.kind,
        "ms": formats.amount(times.get(entry.name, entry.milliseconds)),
        "candidates": len(ids),
        "gold": [
            next((rank for rank, id_ in enumerate(ids, start=1) if id_ in wanted), None)
            for wanted in covering
        ],
        "note": entry.note,
    }
