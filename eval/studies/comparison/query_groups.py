"""Groups of queries that cross-validation must not split."""

from collections.abc import Hashable, Iterable, Sequence

from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.groups import find_groups


def group(queries: Sequence[Query], collection: Collection, by: str) -> list[str]:
    """Return a name for the group of each query.

    With `by` "text", queries with the same words are a group. With "document", also those that
    share, directly or through other queries, a document with a relevant item, and those of one
    declared group. With "group", also those that the verdict treats as one group (`find_groups`).
    """
    shared: list[list[Hashable]] = [
        [("text", " ".join(query.text.casefold().split()))] for query in queries
    ]
    if by == "document":
        for query, marks in zip(queries, shared, strict=True):
            items = collection.gold[query.id]
            marks += [("document", item.doc_id) for item in items if item.grade > 0]
            marks += [("group", query.group)] if query.group else []
    if by == "group":
        found = find_groups(queries, collection.gold, collection.card.known_copies)
        for query, marks in zip(queries, shared, strict=True):
            marks.append(found[query.id])
    return [queries[first].id for first in _link(shared)]


def _link(shared: Sequence[Iterable[Hashable]]) -> list[int]:
    """Return for each item the first item that it is linked to by shared marks."""
    parent = list(range(len(shared)))

    def find(item: int) -> int:
        while parent[item] != item:
            item = parent[item]
        return item

    holder: dict[Hashable, int] = {}
    for item, marks in enumerate(shared):
        for mark in marks:
            one, other = sorted((find(item), find(holder.setdefault(mark, item))))
            parent[other] = one
    return [find(item) for item in range(len(shared))]
