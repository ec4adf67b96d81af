"""Joining judgments to whatever chunks a pipeline returns.

Gold is a span of a document (or a whole document, or a passage the collection prescribes), and
pipelines cut documents differently. The rule, in one place:

* A chunk covers a gold item when the two share at least half of the shorter one. Between two
  passages that the collection itself prescribes, only the same passage covers.
* One gold item counts once, at the first retrieved chunk that covers it.
* A chunk that covers several items at once takes the best grade in rank measures and counts all
  of them in recall. A chunk that covers only items found before is judged, and not relevant.

Hence no measure exceeds 1, and where each gold item is exactly one chunk every measure equals
trec_eval's on plain qrels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.collections.collection import GoldItem
from retrievers.base import Chunk

RULE = (
    "a chunk covers a gold item when they share at least half of the shorter; an item counts once, "
    "at the first chunk that covers it; a chunk covering several takes the best grade in rank "
    "measures and counts all in recall"
)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A chunk at one rank; `prescribed` when it is a passage the collection prescribes."""

    chunk: Chunk
    prescribed: bool = False


@dataclass(frozen=True, slots=True)
class JoinedHit:
    """One rank after the join.

    `found` are the relevant gold items that count here, best grade first; `judged` says whether
    the chunk covers any gold item at all, of grade 0 or counted before among them.
    """

    chunk: Chunk
    found: tuple[GoldItem, ...]
    judged: bool

    @property
    def grade(self) -> int:
        """The grade this rank counts with."""
        return self.found[0].grade if self.found else 0


def covers(retrieved: Retrieved, item: GoldItem) -> bool:
    """Say whether a chunk covers a gold item."""
    chunk = retrieved.chunk
    if item.passage_id and retrieved.prescribed:
        return chunk.id == item.passage_id
    if chunk.doc_id != item.doc_id:
        return False
    shared = min(chunk.end, item.end) - max(chunk.start, item.start)
    shorter = min(chunk.end - chunk.start, item.end - item.start)
    return shared > 0 and 2 * shared >= shorter


def join(ranking: Sequence[Retrieved], gold: Sequence[GoldItem]) -> list[JoinedHit]:
    """Return what each rank of one query's `ranking` counts for, given its `gold` items."""
    counted: set[str] = set()
    joined = []
    for retrieved in ranking:
        covered = [item for item in gold if covers(retrieved, item)]
        found = [item for item in covered if item.grade > 0 and item.id not in counted]
        found.sort(key=lambda item: -item.grade)
        counted.update(item.id for item in found)
        joined.append(JoinedHit(retrieved.chunk, tuple(found), bool(covered)))
    return joined
