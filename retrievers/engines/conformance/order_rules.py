"""Rules for the order of equal scores, for rebuilt indexes, and for links between texts."""

from collections.abc import Callable
from contextlib import closing

from assay.retrievers.conformance import require
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.conformance.sample import QUERIES, TEXTS, index, search
from assay.retrievers.fusion.ranking import ordered

Make = Callable[[], Engine]

COPIES = TEXTS[:30] * 4  # each text ties with three others
BUILDS = 3


def equal_scores_are_ordered_by_position(make: Make) -> None:
    """Equal scores are ordered by position, at a list's end too unless search is approximate."""
    with closing(make()) as engine:
        index(engine, COPIES)
        exact = engine.metadata().get("exact")
        for query in QUERIES:
            for kind in engine.searches:
                whole = search(engine, kind, query, len(COPIES))
                require(whole == ordered(whole), f"{kind}: {whole[:9]} is not in order")
                if kind != "keyword" and not exact:
                    continue
                for limit in (1, 6, 31):
                    head = [position for position, _ in search(engine, kind, query, limit)]
                    best = [position for position, _ in whole[:limit]]
                    require(head == best, f"{kind}: the best {limit} are {head}, and not {best}")


def index_built_again_ranks_the_same(make: Make) -> None:
    """A reproducible engine, rebuilt from the same texts and vectors, gives the same answers.

    Each build gets another encoder name, so that no earlier index is reused.
    """
    with closing(make()) as engine:
        answers = []
        for build in range(BUILDS):
            index(engine, COPIES, f"build {build}")
            if not engine.reproducible:
                told = engine.metadata().get("nondeterministic")
                require(told is True, "nondeterministic is not told")
                return
            answers.append(
                {(kind, query): search(engine, kind, query, 50)
                 for kind in engine.searches for query in QUERIES}
            )  # fmt: skip
        for (kind, query), first in answers[0].items():
            same = all(other[kind, query] == first for other in answers[1:])
            require(same, f"{kind}: built again, {query!r} is answered differently")


def linked_texts_stand_beside_each_other(make: Make) -> None:
    """An engine that stores links returns the texts right before and after a text."""
    with closing(make()) as engine:
        engine.relate({"one": (3, 1, 4), "two": (0, 2)})
        index(engine, TEXTS[:5])
        told = engine.beside([1, 3, 0])
        require(told in (None, [[3, 4], [1], [2]]), f"{told} stand beside 1, 3 and 0")
        index(engine, TEXTS[:6])
        told = engine.beside([1])
        require(told is None, f"{told} stands beside a text of no document")
