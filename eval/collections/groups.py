"""The group of a query: those of one document, or of one declared group, are not independent."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from assay.eval.collections.collection import GoldItem, Query
from assay.eval.statistics.groups import CORRELATION

NO_COPIES: Mapping[str, str] = {}


class Group(NamedTuple):
    """A group of queries: declared by the collection, of a document, or of one query alone.

    `name` is that of the declared group, the id of the document, or the id of the query.
    """

    kind: Literal["declared", "document", "query"]
    name: str


def find_groups(
    queries: Iterable[Query],
    gold: Mapping[str, Sequence[GoldItem]],
    copies: Mapping[str, str] = NO_COPIES,
) -> dict[str, Group]:
    """Return the group of each query by its id, in the order of `queries`.

    It is the group that the collection declares for the query, else the document of its main gold
    (`find_main_document`), else the query by itself. `copies` has the original of each document
    that is a copy; a copy and its original are one document.
    """
    found: dict[str, Group] = {}
    for query in queries:
        document = find_main_document(gold.get(query.id, ()), copies)
        if query.group:
            found[query.id] = Group("declared", query.group)
        elif document is not None:
            found[query.id] = Group("document", document)
        else:
            found[query.id] = Group("query", query.id)
    return found


def find_main_document(
    items: Iterable[GoldItem], copies: Mapping[str, str] = NO_COPIES
) -> str | None:
    """Return the id of the document that holds most of the best answer; None without an answer.

    Only items of the highest grade count, by their length in characters; of equal ones the id that
    sorts first is taken. The text of a document and of its copies counts once.
    """
    relevant = [item for item in items if item.grade > 0]
    if not relevant:
        return None
    highest = max(item.grade for item in relevant)
    lengths: Counter[str] = Counter()
    for item in relevant:
        if item.grade == highest:
            lengths[item.doc_id] += item.end - item.start
    longest: dict[str, int] = {}
    for document, length in lengths.items():
        original = find_original(document, copies)
        longest[original] = max(longest.get(original, 0), length)
    return min(longest, key=lambda document: (-longest[document], document))


def find_original(document: str, copies: Mapping[str, str]) -> str:
    """Return the id of the document that this one is a copy of, its own where it is none."""
    passed = {document}
    while (original := copies.get(document, document)) not in passed:
        passed.add(original)
        document = original
    return document


def share_touched(
    groups: Iterable[Group], documents: int, copies: Mapping[str, str] = NO_COPIES
) -> float:
    """Return the share of a collection's documents that some query's group is of, from 0 to 1.

    `documents` counts those of the collection, copies included; these do not count.
    """
    touched = {group.name for group in groups if group.kind == "document"}
    return min(1.0, len(touched) / max(documents - len(copies), 1))


def count_independent(groups: Iterable[Group]) -> float:
    """Return the expected effective number of independent questions in groups.

    It follows from the sizes of the groups, with a correlation of .2 within them (Kish 1965,
    Survey Sampling, 5.4).
    """
    sizes = Counter(groups)
    typical = sum(size**2 for size in sizes.values()) / max(sizes.total(), 1)
    return sizes.total() / (1 + (max(typical, 1) - 1) * CORRELATION)


def describe_groups(groups: Iterable[Group]) -> str:
    """Return a sentence on the effective number of independent questions in groups.

    It is "" if all questions are independent (see `count_independent`).
    """
    sizes = Counter(groups)
    questions, independent = sizes.total(), count_independent(sizes.elements())
    if round(independent) == questions:
        return ""
    unit = "group" if any(group.kind == "declared" for group in sizes) else "document"
    return (
        f"{questions:,} questions on {len(sizes):,} {unit}{'s' if len(sizes) > 1 else ''}, up to "
        f"{max(sizes.values()):,} on one: they count as about {independent:,.0f} independent "
        "questions (foreseen; a comparison measures it)"
    )
