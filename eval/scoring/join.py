"""Joining judgments to whatever chunks a pipeline returns.

Gold is a span of a document (or a whole document, or a passage the collection prescribes), and
pipelines cut documents differently. The rule, in one place:

* A chunk covers a gold item when the two share at least half of the shorter one. Between two
  passages that the collection itself prescribes, only the same passage covers.
* One gold item counts once, at the first retrieved chunk that covers it.
* A chunk that covers several items at once counts all of them: in recall at its own rank, and in
  rank measures the best grade at its own rank and the others at the next ranks whose chunks count
  for nothing new (see `fill_places`). A chunk that covers only items found before is judged, and
  not relevant.

Hence no measure exceeds 1, a ranking whose first hit covers every item is perfect, covering an item
earlier never lowers a score, and where each gold item is exactly one chunk every measure equals
trec_eval's on plain qrels. docs/measures.md has the formulas.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.eval.collections.collection import GoldItem
from assay.retrievers.base import Chunk

NOT_THE_ITEM = "#chunk"
RULE = (
    "a chunk covers a gold item when they share at least half of the shorter; an item counts once, "
    "at the first that covers it; a chunk covering several counts all: in recall at its rank, in "
    "rank measures the best there and the others at the next ranks that count for nothing new"
)


# These and joined hits are not frozen, which takes four times as long to make.
@dataclass(slots=True, unsafe_hash=True)
class RetrievedChunk:
    """A chunk at one rank.

    It is `prescribed` if it is a passage that the collection prescribes, and `unwanted` if it is of
    a document that must not be returned.
    """

    chunk: Chunk
    prescribed: bool = False
    unwanted: bool = False
    _unjudged: "JoinedHit | None" = field(default=None, init=False, repr=False, compare=False)

    @property
    def unjudged(self) -> "JoinedHit":
        """The hit where the chunk covers nothing that was judged; the same object each time."""
        if self._unjudged is None:
            self._unjudged = JoinedHit(self.chunk, (), False, unwanted=self.unwanted)
        return self._unjudged


@dataclass(slots=True, unsafe_hash=True)
class JoinedHit:
    """One rank after the join.

    `found` are the relevant gold items that count here, best grade first; `judged` says whether
    the chunk covers any gold item at all, of grade 0 or counted before among them. `alias` stands
    for a chunk whose own id is that of a relevant item, which it must not be taken for. `unwanted`
    is that of the chunk.
    """

    chunk: Chunk
    found: tuple[GoldItem, ...]
    judged: bool
    alias: str = ""
    unwanted: bool = False

    @property
    def name(self) -> str:
        """The chunk's id in a ranking that also holds gold items."""
        return self.alias or self.chunk.id

    @property
    def grade(self) -> int:
        """The best grade among the items that count here."""
        return self.found[0].grade if self.found else 0


def covers(retrieved: RetrievedChunk, item: GoldItem) -> bool:
    """Return True if a chunk covers a gold item."""
    chunk = retrieved.chunk
    if chunk.doc_id != item.doc_id:
        return False
    if item.passage_id and retrieved.prescribed:
        return chunk.id == item.passage_id
    shared = min(chunk.end, item.end) - max(chunk.start, item.start)
    shorter = min(chunk.end - chunk.start, item.end - item.start)
    return shared > 0 and 2 * shared >= shorter


def join(ranking: Sequence[RetrievedChunk], gold: Sequence[GoldItem]) -> list[JoinedHit]:
    """Return the joined hit at each rank of one query's `ranking`, given its `gold` items."""
    counted: set[str] = set()
    relevant = {item.id for item in gold if item.grade > 0}
    by_document: dict[str, list[GoldItem]] = {}
    for item in gold:
        by_document.setdefault(item.doc_id, []).append(item)
    joined = []
    for retrieved in ranking:
        chunk = retrieved.chunk
        alias = f"{chunk.id}{NOT_THE_ITEM}" if chunk.id in relevant else ""
        near = by_document.get(chunk.doc_id)
        if near is None and not alias:  # as nearly always
            joined.append(retrieved.unjudged)
            continue
        covered = [
            item
            for item in near or ()
            # Nearly all lie elsewhere in the document, and need not be asked about.
            if item.start <= chunk.end and chunk.start <= item.end and covers(retrieved, item)
        ]
        hit = (
            count_hit(chunk, covered, counted, alias, unwanted=retrieved.unwanted)
            if covered or alias
            else retrieved.unjudged
        )
        joined.append(hit)
    return joined


def count_hit(
    chunk: Chunk,
    covered: Sequence[GoldItem],
    counted: set[str],
    alias: str = "",
    *,
    unwanted: bool = False,
) -> JoinedHit:
    """Return the joined hit of a chunk that covers the items `covered`.

    The relevant items that it counts for are added to `counted`.
    """
    found = [item for item in covered if item.grade > 0 and item.id not in counted]
    found.sort(key=lambda item: -item.grade)
    counted.update(item.id for item in found)
    return JoinedHit(chunk, tuple(found), bool(covered), alias, unwanted)


class RankedItem(NamedTuple):
    """An entry of a ranking for rank measures: a gold item, or a chunk that counts for nothing.

    `rank` is that of the hit, `id` the item's or the chunk's, `grade` 0 for a chunk.
    """

    rank: int
    id: str
    grade: int


def fill_places(hits: Sequence[JoinedHit]) -> list[RankedItem]:
    """Return one query's joined ranking with one gold item a place, as TREC runs have it.

    At each rank stands the best of the items that were covered at it or above and have no place
    yet, else the chunk itself. Items left after the last hit follow it. So an item stands at the
    rank of its hit or below, and of all such orders this has the highest DCG.
    """
    if all(len(hit.found) < 2 for hit in hits):  # as nearly always, and then none waits
        return [
            RankedItem(rank, hit.found[0].id, hit.found[0].grade)
            if hit.found
            else RankedItem(rank, hit.name, 0)
            for rank, hit in enumerate(hits, start=1)
        ]
    waiting: list[RankedItem] = []
    places = []
    for rank, hit in enumerate(hits, start=1):
        if hit.found:
            waiting += [RankedItem(rank, item.id, item.grade) for item in hit.found]
            waiting.sort(key=lambda place: -place.grade)
        places.append(waiting.pop(0) if waiting else RankedItem(rank, hit.name, 0))
    return places + waiting
