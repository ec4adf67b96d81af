"""The best matches are those of a full sort of rounded scores, however close scores lie."""

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.fusion import ranking
from assay.retrievers.fusion.ranking import DECIMALS

# Sums that rounding makes equal, next to some that it keeps apart.
CLOSE = st.sampled_from([0.0, -1.0, 4e-10, 6e-10, 1.0, 1.0 + 4e-10, 1.0 + 6e-10, 1.0 - 4e-10, 2e9])
SCORES = st.lists(CLOSE | st.floats(-5, 50), max_size=30)


@given(SCORES, st.integers(1, 35), st.booleans())
def test_the_best_are_those_of_a_full_sort(scores, depth, sorted_late):
    rounded = np.round(np.array(scores), DECIMALS).tolist()
    order = sorted(range(len(scores)), key=lambda i: (-rounded[i], i))
    expected = [(i, rounded[i]) for i in order if rounded[i] > 0][:depth]
    with patch.object(ranking, "DEEP", 0 if sorted_late else 1_000):
        found = ranking.best_matches(np.array(scores), depth)
    if isinstance(found, ranking.DeepList):
        places = {i: found.find(i) for i in range(len(scores) + 1)}
        listed = {i: place for i, place in places.items() if place is not None}
        assert listed == {i: place for place, (i, _) in enumerate(expected)}
    assert list(found) == expected
