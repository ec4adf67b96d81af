"""Dense search with a filter that allows a share of the passages."""

from collections.abc import Callable, Sequence

import numpy as np

from assay.eval.statistics.estimates import SHARE, Estimate, estimate_mean
from assay.eval.studies.stores.engines.engine_bench import Bench
from assay.eval.studies.stores.recall.curve import DEPTHS
from assay.retrievers.base import AssayError
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.recall import measure_shares
from assay.retrievers.fusion.ranking import Positions, Scored
from assay.retrievers.legs.leg_set import over_fetch
from assay.retrievers.models.base import Vectors

SEED = 38
ALL = 1.0  # the share without a filter

Search = Callable[[Vectors, int], Sequence[Scored]]


def parse_shares(text: str) -> list[float]:
    """Parse shares such as `.5,.1,.01`, each kept once. Raises AssayError."""
    shares: dict[float, None] = {}
    for part in text.split(","):
        try:
            share = float(part)
        except ValueError:
            share = 0.0
        if not 0 < share < ALL:
            raise AssayError(
                f"--filters: {part}: no share; allowed: above 0 and below 1, as in .5,.1,.01"
            )
        shares[share] = None
    return list(shares)


def draw_passages(size: int, share: float) -> Positions | None:
    """Return the positions that a filter allows among `size` passages, ascending; None for all.

    They are drawn at random, at least one, and the same at every call.
    """
    if share == ALL:
        return None
    count = max(1, round(share * size))
    return np.sort(np.random.default_rng((SEED, count)).permutation(size)[:count])


def search_among(engine: Engine, allowed: Positions | None, size: int) -> Search:
    """Return a dense search that finds only the passages at `allowed`, of `size`.

    An engine that cannot filter during the search is asked for more results, in growing steps, as
    in a pipeline. The filter is passed with every query.
    """
    if allowed is None:
        return engine.dense

    def search(vector: Vectors, depth: int) -> Sequence[Scored]:
        restricted = engine.restrict(allowed)
        if restricted is not None:
            return restricted.dense(vector, depth)
        known = frozenset(allowed.tolist())
        return over_fetch(lambda step: engine.dense(vector, step), known, depth, size)[0]

    return search


def measure_recalls(
    bench: Bench, search: Search, allowed: Positions | None = None
) -> dict[int, Estimate]:
    """Return the recall of dense search by depth, against exact search among the same passages.

    Results that are not at `allowed` do not count.
    """
    asked = [bench.encoded[query.id] for query in bench.asked]
    vectors = bench.vectors
    if allowed is not None:
        search, vectors = _renumber(search, allowed), vectors[allowed]
    return {
        depth: estimate_mean(measure_shares(search, vectors, asked, depth), SHARE)
        for depth in DEPTHS
    }


def _renumber(search: Search, allowed: Positions) -> Search:
    """Return the search with positions counted within `allowed`, and other results removed."""
    places = {position: place for place, position in enumerate(allowed.tolist())}
    return lambda vector, depth: [
        (places[position], score) for position, score in search(vector, depth) if position in places
    ]
