"""Pooling: the pairs of query and passage that must be judged to compare runs on equal terms."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.eval.collections.authoring.worksheet import Pair, trim
from assay.eval.collections.collection import GoldItem, Query
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.comparability import check_comparable
from assay.eval.runs.summary.means import estimate_scores
from assay.eval.scoring.join import RetrievedChunk, covers
from assay.eval.statistics.estimates import Estimate
from assay.retrievers.base import AssayError, Chunk

DEPTH = 10


@dataclass(frozen=True)
class JudgmentPool:
    """The pairs to judge, the most informative first, and how much was judged before.

    `judged` is Judged@depth by the id of a run. `overlapping` counts the pairs of which another
    passage of the same query holds half or more, or they of it.
    """

    pairs: tuple[Pair, ...]
    judged: dict[str, Estimate]
    overlapping: int

    def count_by_query(self) -> dict[str, int]:
        """Return the number of pairs of each query that has any."""
        counts: dict[str, int] = {}
        for pair in self.pairs:
            counts[pair.query_id] = counts.get(pair.query_id, 0) + 1
        return counts


def make_pool(runs: Sequence[StoredRun], depth: int = DEPTH) -> JudgmentPool:
    """Return what no one has judged of the first `depth` hits of each query of any run.

    Passages that differ only in the white space at their ends are one. Others that overlap stay
    apart, though a judgment of one counts for the other by the join rule: the longer may answer
    where the shorter does not, and only a reader of both can tell.

    First come the pairs by which the runs' DCG would differ most: by the largest minus the
    smallest of their discounts 1 / log2(1 + rank), 0 for a run without a hit above `depth` that
    covers the passage; among equals by the mean discount. So are the pairs chosen that decide a
    comparison soonest (Carterette, Allan, Sitaraman, "Minimal test collections for retrieval
    evaluation", SIGIR 2006). Raises AssayError for runs that were not judged alike or are too
    shallow.
    """
    runs = list({run.manifest.id: run for run in runs}.values())
    found, overlapping = list_open(runs, depth)
    found.sort(key=_by_discounts)
    return collect(runs, depth, [one.pair for one in found], overlapping)


@dataclass(frozen=True, slots=True)
class OpenPair:
    """A pair that nobody has judged, and the rank of the first hit of each run that a judgment of
    it would count for, 0 for none.
    """

    pair: Pair
    ranks: tuple[int, ...]


def list_open(runs: Sequence[StoredRun], depth: int) -> tuple[list[OpenPair], int]:
    """Return what no one has judged of the first `depth` hits, query by query, and how many of them
    overlap another. Raises AssayError as `make_pool` does.
    """
    for run in runs:
        check_comparable(runs[0], run)
        if run.manifest.depth < depth:
            raise AssayError(
                f"{run.manifest.id}: keeps {run.manifest.depth} hits a query; "
                f"allowed: a depth of 1 to {run.manifest.depth}, not {depth}"
            )
    found: list[OpenPair] = []
    overlapping = 0
    for query in runs[0].queries:
        heads = [_head(run, query, depth) for run in runs]
        unjudged = (hit.retrieved for head in heads for hit in head if not hit.judged)
        candidates = list_candidates(runs[0].queries[query], unjudged)
        overlapping += count_overlapping(candidates)
        found += [
            OpenPair(candidate.pair, tuple(_find_rank(candidate, head) for head in heads))
            for candidate in candidates
        ]
    return found, overlapping


def collect(
    runs: Sequence[StoredRun], depth: int, pairs: Sequence[Pair], overlapping: int
) -> JudgmentPool:
    """Return a pool of `pairs` in their order, with what was judged of the runs before."""
    name = f"Judged@{depth}"
    return JudgmentPool(
        pairs=tuple(pairs),
        judged={
            run.manifest.id: estimate_scores(name, run.score([name])[name].values()) for run in runs
        },
        overlapping=overlapping,
    )


@dataclass(frozen=True, slots=True)
class _JudgedHit:
    """A hit as the join sees it, and whether it is judged."""

    retrieved: RetrievedChunk
    judged: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair, the hit it is of, and the gold item it would become."""

    pair: Pair
    retrieved: RetrievedChunk
    item: GoldItem


def _head(run: StoredRun, query: str, depth: int) -> list[_JudgedHit]:
    return [
        _JudgedHit(RetrievedChunk(hit.chunk, hit.chunk.id in run.prescribed), hit.judged)
        for hit in run.joined[query][:depth]
    ]


def list_candidates(query: Query, retrieved: Iterable[RetrievedChunk]) -> list[Candidate]:
    """Return the passages of one query by place, each once whoever returned it."""
    found: dict[tuple[str, int, int], list[RetrievedChunk]] = {}
    for one in retrieved:
        place = (one.chunk.doc_id, *trim(one.chunk.text, one.chunk.start))
        found.setdefault(place, []).append(one)
    return [_make_candidate(query, place, found[place]) for place in sorted(found)]


def count_overlapping(candidates: Sequence[Candidate]) -> int:
    """Return how many hold half or more of another of their query, or it of them."""
    return sum(
        any(covers(one.retrieved, other.item) for other in candidates if other is not one)
        for one in candidates
    )


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


def _find_rank(candidate: Candidate, head: Sequence[_JudgedHit]) -> int:
    """Return the rank of the first hit that a judgment would count for, 0 without any."""
    for rank, hit in enumerate(head, start=1):
        if covers(hit.retrieved, candidate.item):
            return rank
    return 0


def discount(rank: int) -> float:
    """Return 1 / log2(1 + rank), 0 for rank 0: what DCG makes of a grade there."""
    return 1 / math.log2(1 + rank) if rank else 0.0


def _by_discounts(one: OpenPair) -> tuple[float, float]:
    i = [discount(rank) for rank in one.ranks]
    return min(i) - max(i), -math.fsum(i) / len(i)
