"""What a collection holds, as one short digest an item, and what changed between two of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from assay.eval.collections.collection import Collection, GoldItem
from assay.retrievers.base import Document
from assay.retrievers.store.digest import digest

SHORT = 12  # hexadecimal digits of an item's digest
BETWEEN = "\t"  # a judgment's query and its gold item
PARTS = ("documents", "queries", "judgments")


class ItemChanges(BaseModel):
    """What changed among items of one part: the digests of those that are new or changed by id.

    `moved` are judgments whose text and grade are found at another place, the old id by the new.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    added: dict[str, str] = {}
    removed: list[str] = []
    changed: dict[str, str] = {}
    moved: dict[str, str] = {}

    @property
    def words(self) -> str:
        """How many items changed in which way: `1 added, 2 moved`; "" where none did."""
        found = self.model_dump().items()
        return ", ".join(f"{len(items)} {what}" for what, items in found if items)

    def apply(self, items: Mapping[str, str]) -> dict[str, str]:
        """Return `items`, digests by id, with these changes made."""
        moved = {new: items[old] for new, old in self.moved.items()}
        gone = {*self.removed, *self.moved.values()}
        kept = {id_: value for id_, value in items.items() if id_ not in gone}
        return kept | moved | self.added | self.changed


class Changes(BaseModel):
    """What changed between two versions of a collection."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    documents: ItemChanges = ItemChanges()
    queries: ItemChanges = ItemChanges()
    judgments: ItemChanges = ItemChanges()

    @property
    def words(self) -> str:
        """What changed, in one line: `documents: 1 changed; judgments: 3 moved`; "" of nothing."""
        found = {name: getattr(self, name).words for name in PARTS}
        return "; ".join(f"{name}: {words}" for name, words in found.items() if words)

    def as_json(self) -> dict[str, Any]:
        """Return the changes as JSON values, without what is empty."""
        parts = self.model_dump()
        return {
            name: kept
            for name, part in parts.items()
            if (kept := {key: items for key, items in part.items() if items})
        }


@dataclass(frozen=True, slots=True)
class Contents:
    """Digests by id. That of a judgment, by its query and gold item, is its grade and its text's.

    Text is all that a pipeline may see of a document: title, passages, contexts and metadata too.
    """

    documents: Mapping[str, str]
    queries: Mapping[str, str]
    judgments: Mapping[str, str]

    @classmethod
    def of(cls, collection: Collection) -> "Contents":
        """Return what a collection holds; each document is read once."""
        return cls(
            documents={item.id: digest_document(item) for item in collection.documents},
            queries={i.id: digest(i.text, i.type)[:SHORT] for i in collection.queries},
            judgments={
                f"{query}{BETWEEN}{item.id}": f"{item.grade} {digest_gold_text(collection, item)}"
                for query, items in collection.gold.items()
                for item in items
            },
        )

    def apply(self, changes: Changes) -> "Contents":
        """Return what there is after `changes`."""
        return Contents(*(getattr(changes, part).apply(getattr(self, part)) for part in PARTS))


EMPTY = Contents({}, {}, {})


def digest_document(document: Document) -> str:
    """Return the short digest of all that a pipeline may see of a document."""
    return digest(
        document.title,
        document.text,
        [[i.id, i.start, i.end, i.title] for i in document.passages],
        [[i.start, i.end, i.text] for i in document.contexts],
        dict(document.metadata),
    )[:SHORT]


def digest_gold_text(collection: Collection, item: GoldItem) -> str:
    """Return the short digest of a gold item's text, by which it is known at another place."""
    return digest(collection.texts.get(item.doc_id, "")[item.start : item.end])[:SHORT]


def compare_contents(before: Contents, after: Contents) -> Changes:
    """Return what changed from `before` to `after`."""
    return Changes(
        documents=_compare(before.documents, after.documents),
        queries=_compare(before.queries, after.queries),
        judgments=_compare_judgments(before.judgments, after.judgments),
    )


def _compare(before: Mapping[str, str], after: Mapping[str, str]) -> ItemChanges:
    return ItemChanges(
        added={id_: after[id_] for id_ in sorted(after.keys() - before.keys())},
        removed=sorted(before.keys() - after.keys()),
        changed={
            id_: after[id_]
            for id_ in sorted(before.keys() & after.keys())
            if before[id_] != after[id_]
        },
    )


def _compare_judgments(before: Mapping[str, str], after: Mapping[str, str]) -> ItemChanges:
    """Return as moved what went at one place and came at another: one query, text and grade.

    Equal texts are matched in the order of their ids. Where another text is at a judgment's place
    now, the judgment of the old text went and that of the new one came.
    """
    gone: dict[tuple[str, str], list[str]] = {}
    for id_ in sorted(before):
        if _text_of(before[id_]) != _text_of(after.get(id_, "")):
            gone.setdefault((id_.partition(BETWEEN)[0], before[id_]), []).append(id_)
    moved = {}
    for id_ in sorted(after):
        waiting = gone.get((id_.partition(BETWEEN)[0], after[id_]))
        if _text_of(before.get(id_, "")) != _text_of(after[id_]) and waiting:
            moved[id_] = waiting.pop(0)
    left_places = set(moved.values())
    left = {id_: value for id_, value in before.items() if id_ not in left_places}
    come = {id_: value for id_, value in after.items() if id_ not in moved}
    return _compare(left, come).model_copy(update={"moved": moved})


def _text_of(value: str) -> str:
    return value.rpartition(" ")[2]
