"""The rules every stage keeps, as checks that any can be put to."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from assay.retrievers.base import Hit
from assay.retrievers.conformance import (
    make_rules,
    require,
    require_answers,
    require_safe_threads,
)
from assay.retrievers.conformance_sample import DOCUMENTS, QUERIES
from assay.retrievers.legs.conformance import make_corpus
from assay.retrievers.stages.base import Stage

Make = Callable[[], Stage]


def open_stage(make: Make) -> tuple[Stage, list[Hit]]:
    """Return a stage that knows the documents of the rules, and these as hits from 0.9 down."""
    stage, corpus = make(), make_corpus()
    stage.index(corpus, 1.0)
    return stage, [Hit(chunk, 0.9 - 0.1 * i) for i, chunk in enumerate(corpus.chunks)]


def tell(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    """Return the ids and scores of `hits`."""
    return [(hit.chunk.id, hit.score) for hit in hits]


def best_first(make: Make) -> None:
    """Hits stand by falling, finite scores, and none stands twice."""
    stage, hits = open_stage(make)
    for query in QUERIES:
        found = tell(stage.apply(query, hits).hits)
        scores = [score for _, score in found]
        require(all(map(math.isfinite, scores)), f"{query!r}: a score is infinite")
        require(scores == sorted(scores, reverse=True), f"{query!r}: not best first: {found}")
        require(len(dict(found)) == len(found), f"{query!r}: a hit twice: {found}")


def nothing_from_nothing(make: Make) -> None:
    """No hits become no hits."""
    stage, _ = open_stage(make)
    for query in QUERIES:
        require(not stage.apply(query, []).hits, f"{query!r}: hits where there were none")


def given_hits_stay(make: Make) -> None:
    """The list of hits that it was given is left as it is."""
    stage, hits = open_stage(make)
    before = list(hits)
    stage.apply(QUERIES[0], hits)
    require(hits == before, "the hits given were changed")


def pinned_stay_first(make: Make) -> None:
    """Pinned hits stay before all others and in their order; a stage may drop some."""
    stage, hits = open_stage(make)
    for count in range(1, len(hits)):
        # The last documents first, and close together, so that an order of its own would show.
        named = [
            replace(hit, score=2 - i / 1000, pinned=True)
            for i, hit in enumerate(hits[: -count - 1 : -1])
        ]
        places = {hit.chunk.doc_id: i for i, hit in enumerate(named)}
        for query in QUERIES:
            found = stage.apply(query, [*named, *hits[:-count]]).hits
            left = [places.get(hit.chunk.doc_id, len(named)) for hit in found]
            require(left == sorted(left), f"{query!r}: {count} pinned hits do not stay first")
            kept = sum(i < len(named) for i in left)
            require(all(hit.pinned for hit in found[:kept]), f"{query!r}: a hit is pinned no more")


def chunks_are_true(make: Make) -> None:
    """A chunk's text is what its document holds between its offsets."""
    stage, hits = open_stage(make)
    texts = {document.id: document.text for document in DOCUMENTS}
    for query in QUERIES:
        for chunk in (hit.chunk for hit in stage.apply(query, hits).hits):
            held = texts.get(chunk.doc_id, "")[chunk.start : chunk.end]
            require(chunk.text == held, f"{chunk.id}: text differs from the document's")


def same_answer_again(make: Make) -> None:
    """The same hits give the same result, also in a second stage, and without any query cache."""
    stage, hits = open_stage(make)
    other, _ = open_stage(make)
    for query in QUERIES:
        found = tell(stage.apply(query, hits).hits)
        for again in (stage, other, stage.without_query_cache()):
            require(found == tell(again.apply(query, hits).hits), f"{query!r}: another answer")


def odd_queries_are_answered(make: Make) -> None:
    """No text is an error."""
    stage, hits = open_stage(make)
    require_answers(lambda query: stage.apply(query, hits))


def threads_are_safe(make: Make) -> None:
    """Four threads get what one gets."""
    stage, hits = open_stage(make)
    require_safe_threads(lambda query: tell(stage.apply(query, hits).hits))


RULES = make_rules(
    best_first,
    nothing_from_nothing,
    given_hits_stay,
    pinned_stay_first,
    chunks_are_true,
    same_answer_again,
    odd_queries_are_answered,
    threads_are_safe,
)
