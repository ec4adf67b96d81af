"""Judgments that were read before, by all that they were read from."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from pydantic_core import from_json, to_json

from eval.collections.collection import GoldItem
from retrievers.base import AssayError
from retrievers.store.cache import Cache, default_root
from retrievers.store.digest import digest, digest_sources

KIND = "judgments"


def find(of: str) -> dict[str, dict[str, GoldItem]] | None:
    """Return the gold items by query and id that were kept by the digest `of`; None without."""
    key = digest(of, _digest_code())
    with suppress(AssayError):
        if stored := Cache(default_root()).get_many(KIND, [key]).get(key):
            return {
                query: {row[0]: GoldItem(query, *row) for row in rows}
                for query, rows in from_json(stored).items()
            }
    return None


def keep(of: str, items: Mapping[str, Mapping[str, GoldItem]]) -> None:
    """Keep gold items by the digest `of`; where nothing can be written, they are read anew."""
    rows = {
        query: [
            [at.id, at.doc_id, at.start, at.end, at.grade, at.passage_id, at.judged_by]
            for at in of_query.values()
        ]
        for query, of_query in items.items()
    }
    with suppress(AssayError):
        Cache(default_root()).put_many(KIND, {digest(of, _digest_code()): to_json(rows)})


@cache
def _digest_code() -> str:
    """Return a digest of what reads judgments."""
    here = Path(__file__).parent
    return digest_sources(here, here.parent / "collection.py")
