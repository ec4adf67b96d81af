"""Judgments that were read before, by all that they were read from."""

from collections.abc import Mapping

from pydantic_core import from_json, to_json

from assay.eval.collections.collection import GoldItem
from assay.eval.collections.formats import memo

KIND = "judgments"


def find(of: str) -> dict[str, dict[str, GoldItem]] | None:
    """Return the gold items by query and id that were kept by the digest `of`; None without."""
    if (stored := memo.find(KIND, of)) is None:
        return None
    return {
        query: {row[0]: GoldItem(query, *row) for row in rows}
        for query, rows in from_json(stored).items()
    }


def keep(of: str, items: Mapping[str, Mapping[str, GoldItem]]) -> None:
    """Keep gold items by the digest `of`; where nothing can be written, they are read anew."""
    rows = {
        query: [
            [i.id, i.doc_id, i.start, i.end, i.grade, i.passage_id, i.judged_by]
            for i in of_query.values()
        ]
        for query, of_query in items.items()
    }
    memo.keep(KIND, of, to_json(rows))
