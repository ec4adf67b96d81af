"""Rules for engines that skip forbidden texts during a search."""

from collections.abc import Callable
from contextlib import closing

import numpy as np

from assay.retrievers.conformance import require
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.conformance.sample import QUERIES, TEXTS, encode, index, search
from assay.retrievers.fusion.ranking import Scored

Make = Callable[[], Engine]

LIMIT = 20


def restricted_engines_find_the_rest_in_order(make: Make) -> None:
    """An engine that skips forbidden texts finds the others in the order of its whole list.

    Its fused texts are in the lists of these; approximate search may find others of them.
    """
    with closing(make()) as engine:
        index(engine)
        size = len(TEXTS)
        asked = [(kind, query) for kind in engine.searches for query in QUERIES[:2]]
        whole = {each: search(engine, *each, size) for each in asked}
        exact = engine.metadata().get("exact")
        for kept in (range(0), range(1, 2), range(0, size, 2), range(10, size)):
            restricted = engine.restrict(np.array(kept, np.intp))
            if restricted is None:
                continue
            for kind, query in asked:
                found = search(restricted, kind, query, size if kind == "hybrid" else LIMIT)
                problem = f"{kind}, {query!r}, of {kept}: {found[:9]}"
                require({position for position, _ in found} <= set(kept), problem)
                if kind == "hybrid":
                    lists = restricted.lists(query, encode(query))
                    same = not exact or _positions(found) == _positions(engine.formula.fuse(*lists))
                    require(same, f"{problem} is not what the lists hold")
                elif kind == "keyword" or exact:
                    best = [pair for pair in whole[kind, query] if pair[0] in kept][:LIMIT]
                    same = [i for i, _ in found] == [i for i, _ in best]
                    require(same and _agree(found, best), f"{problem}, not {best[:9]}")


def _positions(found: list[Scored]) -> set[int]:
    return {position for position, _ in found}


def _agree(found: list[Scored], best: list[Scored]) -> bool:
    return np.allclose([s for _, s in found], [s for _, s in best], atol=1e-4)
