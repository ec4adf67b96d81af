"""The best matches are those of a full sort of rounded scores, however close scores lie."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.fusion.ranking import DECIMALS, best_matches

# Sums that rounding makes equal, next to some that it keeps apart.
CLOSE = st.sampled_from([0.0, -1.0, 4e-10, 6e-10, 1.0, 1.0 + 4e-10, 1.0 + 6e-10, 1.0 - 4e-10, 2e9])
SCORES = st.lists(CLOSE | st.floats(-5, 50), max_size=30)


@given(SCORES, st.integers(1, 35))
def test_the_best_are_those_of_a_full_sort(scores: list[float], depth: int) -> None:
    rounded = np.round(np.array(scores), DECIMALS).tolist()
    order = sorted(range(len(scores)), key=lambda i: (-rounded[i], i))
    expected = [(i, rounded[i]) for i in order if rounded[i] > 0][:depth]
    assert best_matches(np.array(scores), depth) == expected
