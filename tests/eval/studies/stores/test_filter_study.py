"""What filters cost engines: stores that are asked for more, and one that drops its filter."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.studies.stores.filters.study import DEPTH, _share, find
from assay.retrievers.fusion.ranking import best
from assay.retrievers.legs.leg_set import over_fetch


@given(st.integers(1, 60), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_asking_for_more_ends_with_the_best_of_what_may_be_found(
    size: int, depth: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    everything = list(best(chance.random(size), size))
    allowed = set(chance.choice(size, chance.integers(0, size + 1), replace=False).tolist())
    found, asked = over_fetch(lambda step: everything[:step], allowed, depth, size)
    assert found == [pair for pair in everything if pair[0] in allowed][:depth]
    assert asked >= min(size, len(found))


def test_a_store_that_drops_its_filter_misses_what_may_be_found() -> None:
    vectors = np.eye(40, dtype=np.float32)
    query = np.linspace(1, 0, 40, dtype=np.float32)
    bench = cast(Any, SimpleNamespace(vectors=vectors, encoded={"q": query}))
    dropping = SimpleNamespace(dense=lambda vector, limit: best(vectors @ vector, limit))
    engine = cast(Any, SimpleNamespace(restrict=lambda allowed: dropping))
    allowed = np.arange(20, 40)
    found, asked = find(engine, query, allowed, 40)
    assert asked == DEPTH
    held = [pair for pair in found if pair[0] in allowed]
    assert _share(bench, cast(Any, SimpleNamespace(id="q")), allowed, held) == 0
