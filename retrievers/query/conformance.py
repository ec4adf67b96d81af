"""The rules every query step keeps, as checks that any can be put to."""

import math
from collections.abc import Callable

from assay.retrievers.conformance import (
    make_rules,
    require,
    require_answers,
    require_safe_threads,
)
from assay.retrievers.conformance_sample import QUERIES
from assay.retrievers.legs.conformance import make_corpus
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.query.base import LegKinds, QueryStep

Make = Callable[[], QueryStep]

LEGS: LegKinds = {"dense": "semantic", "words": "keyword", "links": "graph"}


def open_step(make: Make) -> QueryStep:
    """Return a step that knows the documents of the rules."""
    step = make()
    step.index(make_corpus())
    return step


def legs_are_those_given(make: Make) -> None:
    """Texts and factors are by the names of legs; factors are finite and not negative."""
    step = open_step(make)
    for query in QUERIES:
        request = step.apply(LegQuery(query)).request
        unknown = {*request.texts, *request.factors} - LEGS.keys()
        require(not unknown, f"{query!r}: no such legs: {unknown}")
        for name, factor in request.factors.items():
            require(math.isfinite(factor) and factor >= 0, f"{query!r}: {name}: factor {factor}")


def limits_stand(make: Make) -> None:
    """Chunks forbidden by an earlier step stay forbidden; allowed are only positions of chunks."""
    step = open_step(make)
    size = len(make_corpus().chunks)
    for query in QUERIES:
        for given in (None, frozenset({0, 1})):
            allowed = step.apply(LegQuery(query, allowed=given)).request.allowed
            most = frozenset(range(size)) if given is None else given
            if allowed is None:
                require(given is None, f"{query!r}: a limit was lifted")
            else:
                require(allowed <= most, f"{query!r}: may find {allowed - most}")


def same_answer_again(make: Make) -> None:
    """The same request becomes the same, also in another step, and without any query cache."""
    step = open_step(make)
    for query in QUERIES:
        made = step.apply(LegQuery(query)).request
        for again in (step, open_step(make), step.without_query_cache()):
            require(made == again.apply(LegQuery(query)).request, f"{query!r}: another request")


def odd_queries_are_answered(make: Make) -> None:
    """No text is an error."""
    step = open_step(make)
    require_answers(lambda query: step.apply(LegQuery(query)))


def threads_are_safe(make: Make) -> None:
    """Four threads get what one gets."""
    step = open_step(make)
    require_safe_threads(lambda query: step.apply(LegQuery(query)).request)


RULES = make_rules(
    legs_are_those_given,
    limits_stand,
    same_answer_again,
    odd_queries_are_answered,
    threads_are_safe,
)
