"""The pairs of query and passage among the first hits of runs that nobody has judged."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.eval.collections.authoring.worksheet import Pair, trim
from assay.eval.collections.collection import GoldItem, Query
from assay.eval.runs.stored import StoredRun
from assay.eval.scoring.join import RetrievedChunk, covers
from assay.retrievers.base import Chunk


@dataclass(frozen=True, slots=True)
class OpenPair:
    """A pair that nobody has judged.

    For each run it has the rank of the first hit that a judgment of it would count for, 0 for none.
    """

    pair: Pair
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair, the hit it is of, and the gold item it would become."""

    pair: Pair
    retrieved: RetrievedChunk
    item: GoldItem


def list_open(runs: Sequence[StoredRun], depth: int) -> tuple[list[OpenPair], int]:
    """Return the unjudged of the first `depth` hits by query, and the number that overlap another.

    Passages that differ only in the white space at their ends are one. Others that overlap stay
    apart, though a judgment of one counts for the other by the join rule: the longer may answer
    though the shorter does not, and only a reader of both can decide. The runs are of the same
    queries and judgments, and keep that many hits.
    """
    found: list[OpenPair] = []
    overlapping = 0
    for query in runs[0].queries:
        heads = [run.joined[query][:depth] for run in runs]
        seen = [
            [RetrievedChunk(hit.chunk, hit.chunk.id in run.prescribed) for hit in head]
            for run, head in zip(runs, heads, strict=True)
        ]
        unjudged = (
            retrieved
            for head, all_seen in zip(heads, seen, strict=True)
            for hit, retrieved in zip(head, all_seen, strict=True)
            if not hit.judged
        )
        candidates = list_candidates(runs[0].queries[query], unjudged)
        if not candidates:
            continue
        overlapping += count_overlapping(candidates)
        by_document = list(map(_group, seen))
        found += [
            OpenPair(
                candidate.pair, tuple(_find_rank(candidate.item, ranked) for ranked in by_document)
            )
            for candidate in candidates
        ]
    return found, overlapping


def list_candidates(query: Query, retrieved: Iterable[RetrievedChunk]) -> list[Candidate]:
    """Return the passages of one query by place, each once whichever run returned it."""
    found: dict[tuple[str, int, int], list[RetrievedChunk]] = {}
    for one in retrieved:
        place = (one.chunk.doc_id, *trim(one.chunk.text, one.chunk.start))
        found.setdefault(place, []).append(one)
    return [_make_candidate(query, place, found[place]) for place in sorted(found)]


def count_overlapping(candidates: Sequence[Candidate]) -> int:
    """Return the number of candidates that share half of themselves or of another candidate."""
    return sum(
        any(covers(one.retrieved, other.item) for other in candidates if other is not one)
        for one in candidates
    )


def discount(rank: int) -> float:
    """Return 1 / log2(1 + rank), 0 for rank 0: what DCG makes of a grade there."""
    return 1 / math.log2(1 + rank) if rank else 0.0


def _make_candidate(
    query: Query, place: tuple[str, int, int], alike: Sequence[RetrievedChunk]
) -> Candidate:
    doc_id, start, end = place
    # A passage that the collection prescribes is judged as such.
    retrieved = max(alike, key=lambda one: one.prescribed)
    chunk = retrieved.chunk
    pair = Pair(
        query_id=query.id,
        query=query.text,
        type=query.type,
        doc_id=doc_id,
        # The fullest that any chunker knows, so that it tells nothing of the run.
        title=max((_title(one.chunk) for one in alike), key=lambda title: (len(title), title)),
        start=start,
        end=end,
        text=chunk.text[start - chunk.start : end - chunk.start],
    )
    passage = chunk.id if retrieved.prescribed else ""
    return Candidate(pair, retrieved, GoldItem(query.id, "", doc_id, start, end, 1, passage))


def _title(chunk: Chunk) -> str:
    return " > ".join(part for part in (chunk.title, *chunk.headings) if part)


def _group(head: Sequence[RetrievedChunk]) -> dict[str, list[tuple[int, RetrievedChunk]]]:
    """Return the hits of a ranking with their ranks, by document."""
    found: dict[str, list[tuple[int, RetrievedChunk]]] = {}
    for rank, one in enumerate(head, start=1):
        found.setdefault(one.chunk.doc_id, []).append((rank, one))
    return found


def _find_rank(item: GoldItem, ranked: dict[str, list[tuple[int, RetrievedChunk]]]) -> int:
    """Return the rank of the first hit that a judgment would count for, 0 without any."""
    for rank, one in ranked.get(item.doc_id, ()):
        if covers(one, item):
            return rank
    return 0
