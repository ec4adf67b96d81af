"""The two parts of a collection's questions: one to develop on, one held out.

Any collection has them, as `NAME:development` and `NAME:held-out`, unless its card gives these
names to judgments of its own. Questions of one group are in one part, and stay there when others
are added: the part follows from a digest of the group's name alone.
"""

import hashlib
from dataclasses import replace

from assay.eval.collections.collection import Collection
from assay.eval.collections.groups import Group, find_groups
from assay.retrievers.base import AssayError

DEVELOPMENT, HELD_OUT = "development", "held-out"
PARTS = (DEVELOPMENT, HELD_OUT)


def take_part(collection: Collection, part: str) -> Collection:
    """Return a collection with the questions of one part. Raises AssayError if it has none."""
    groups = find_groups(collection.queries, collection.gold, collection.card.known_copies)
    queries = tuple(query for query in collection.queries if _find_part(groups[query.id]) == part)
    if not queries:
        raise AssayError(
            f"{collection.name}: has no {part} questions: questions on one document are in one "
            "part; give the card judgments of its own for each part"
        )
    return replace(
        collection,
        name=f"{collection.name}:{part}",
        queries=queries,
        gold={query.id: collection.gold[query.id] for query in queries},
    )


def _find_part(group: Group) -> str:
    return PARTS[hashlib.sha256(f"{group.kind} {group.name}".encode()).digest()[5] % 2]
