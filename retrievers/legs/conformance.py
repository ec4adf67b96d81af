"""The rules every leg keeps, as checks that any can be put to."""

import math
from collections.abc import Callable

import numpy as np

from assay.retrievers.base import Chunk
from assay.retrievers.conformance import (
    make_rules,
    require,
    require_answers,
    require_safe_threads,
)
from assay.retrievers.conformance_sample import DOCUMENTS, QUERIES
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.legs.base import Leg, LegResult, ScoringLeg

Make = Callable[[], Leg]

DEPTH = 5


def make_corpus(*doc_ids: str) -> Corpus:
    """Return the documents of the rules, or those of them named, each as one chunk."""
    documents = [item for item in DOCUMENTS if item.text and (not doc_ids or item.id in doc_ids)]
    chunks = [
        Chunk(item.id, item.id, 0, len(item.text), item.text, headings=(item.text.split("\n")[0],))
        for item in sorted(documents, key=lambda item: item.id, reverse=True)
    ]
    return Corpus(chunks, documents)


def ask(leg: Leg, query: str, depth: int = DEPTH) -> LegResult:
    """Return the result of `leg` after another leg has found the first two chunks."""
    return leg.follow(query, depth, {"other": [(0, 2.0), (1, 1.0)]})


def find(leg: Leg, query: str) -> list[Scored]:
    """Return the result of `leg` without its times."""
    return list(ask(leg, query).candidates)


def at_most_depth(make: Make) -> None:
    """At most `depth` chunks are found, each once, and each of the corpus."""
    leg = make()
    size = leg.index(make_corpus()).chunks
    for query in QUERIES:
        for depth in (1, 2, 10_000):
            found = [position for position, _ in ask(leg, query, depth).candidates]
            require(len(found) <= depth, f"{query!r}: {len(found)} chunks for the depth {depth}")
            require(len(found) == len(set(found)), f"{query!r}: a chunk twice: {found}")
            require(set(found) <= set(range(size)), f"{query!r}: no such positions: {found}")


def best_first(make: Make) -> None:
    """Chunks stand by falling scores, which are finite."""
    leg = make()
    leg.index(make_corpus())
    for query in QUERIES:
        scores = [score for _, score in find(leg, query)]
        require(all(map(math.isfinite, scores)), f"{query!r}: a score is infinite")
        require(scores == sorted(scores, reverse=True), f"{query!r}: not best first: {scores}")


def same_answer_again(make: Make) -> None:
    """The same query finds the same chunks, also in a second leg, and without any query cache."""
    leg = make()
    leg.index(make_corpus())
    uncached = leg.without_query_cache()
    other = make()
    other.index(make_corpus())
    for query in QUERIES:
        found = find(leg, query)
        require(found == find(leg, query), f"{query!r}: another answer the second time")
        require(found == find(other, query), f"{query!r}: two legs differ")
        require(found == find(uncached, query), f"{query!r}: without_query_cache() differs")


def odd_queries_are_answered(make: Make) -> None:
    """No text is an error; a blank one finds nothing."""
    leg = make()
    leg.index(make_corpus())
    require_answers(lambda query: ask(leg, query))
    require(not leg.search(" \n", DEPTH).candidates, "a blank query found chunks")


def indexing_replaces(make: Make) -> None:
    """Chunks indexed before are gone; of no chunks nothing is found."""
    leg = make()
    leg.index(make_corpus())
    small = make_corpus("doc0.md", "doc1.md")
    leg.index(small)
    for query in QUERIES:
        found = [position for position, _ in find(leg, query)]
        require(set(found) <= {0, 1}, f"{query!r}: chunks indexed before: {found}")
    leg.index(Corpus(()))
    for query in QUERIES:
        require(not leg.search(query, DEPTH).candidates, f"{query!r}: found among no chunks")


def restricted_legs_find_the_rest_in_order(make: Make) -> None:
    """A leg that leaves out chunks finds none of them.

    One that scores chunk by chunk gives the others as in its whole list.
    """
    leg = make()
    size = leg.index(make_corpus()).chunks
    for kept in (range(size), range(0, size, 2), range(1, 2), range(0)):
        allowed = np.array(kept, np.intp)
        restricted = leg.restrict(allowed)
        if restricted is None:
            continue
        for query in QUERIES:
            whole = [scored for scored in ask(leg, query, size).candidates if scored[0] in kept]
            for depth in (1, DEPTH, size):
                found = list(ask(restricted, query, depth).candidates)
                right = {position for position, _ in found} <= set(kept)
                if isinstance(leg, ScoringLeg):
                    right = found == whole[:depth]
                require(right, f"{query!r}: {found} of {list(kept)}, not {whole}")


def times_are_told(make: Make) -> None:
    """The milliseconds of each step are reported, and are not negative."""
    leg = make()
    leg.index(make_corpus())
    for query in ("", *QUERIES):
        taken = ask(leg, query).milliseconds
        require(bool(taken), f"{query!r}: no step is told")
        require(min(taken.values()) >= 0, f"{query!r}: a negative time")


def threads_are_safe(make: Make) -> None:
    """Four threads find what one finds."""
    leg = make()
    leg.index(make_corpus())
    require_safe_threads(lambda query: find(leg, query))


RULES = make_rules(
    at_most_depth,
    best_first,
    same_answer_again,
    odd_queries_are_answered,
    indexing_replaces,
    restricted_legs_find_the_rest_in_order,
    times_are_told,
    threads_are_safe,
)
