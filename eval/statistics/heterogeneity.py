"""Whether groups of cases differ by unlike amounts. Plain numbers only."""

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.max_t import MOST_ENUMERATED, SAME, list_signs
from assay.eval.statistics.significance import TIE


def compare_groups(
    differences: NDArray[np.float64], groups: NDArray[np.int64]
) -> tuple[float, ...]:
    """Return for each column the p-value of a mean difference that is the same in all groups.

    `differences` has the shape (cases, tests); `groups` numbers the group of each case from 0.
    The statistic is the sum of squares between groups, over that of all differences less their
    mean. Under the null hypothesis each difference less the mean might as well have the other
    sign: the wild bootstrap (Liu, Annals of Statistics 1988), which lets groups vary unlike, by
    the same draws of signs as `randomise_family`. p-values are adjusted for all columns, by the
    largest statistic of each draw. 1 where nothing varies, or there is one group.
    """
    away = differences - differences.mean(axis=0)
    total = np.sum(away**2, axis=0)
    varied = np.flatnonzero(total > TIE**2)
    p_values = np.ones(differences.shape[1])
    sizes = np.bincount(groups)
    if len(varied) and np.count_nonzero(sizes) > 1:
        scaled = (away[:, varied] / np.sqrt(total[varied])).astype(np.float32)
        places = [np.flatnonzero(groups == i) for i in np.flatnonzero(sizes)]

        def measure(signs: NDArray[np.float32]) -> NDArray[np.floating]:
            within = np.zeros((signs.shape[1], scaled.shape[1]), dtype=np.float32)
            together = np.zeros_like(within)
            for own in places:
                sums = signs[own].T @ scaled[own]
                together += sums
                within += sums**2 / len(own)
            return within - together**2 / len(scaled)

        seen = measure(np.ones((len(scaled), 1), dtype=np.float32))[0]
        beyond, draws = np.zeros(len(varied)), 0
        for signs in list_signs(scaled):
            largest = measure(signs).max(axis=1)
            beyond += np.count_nonzero(largest[:, None] >= seen - SAME, axis=0)
            draws += len(largest)
        extra = 0 if len(scaled) <= MOST_ENUMERATED else 1  # what was seen counts as a draw too
        p_values[varied] = (beyond + extra) / (draws + extra)
    return tuple(p_values.tolist())
