"""A test of whether groups of cases differ by unequal amounts. Plain numbers only."""

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.groups import are_single, count_signs, draw_weights
from assay.eval.statistics.max_t import MOST_ENUMERATED, SAME, list_signs
from assay.eval.statistics.significance import TIE


def compare_groups(
    differences: NDArray[np.float64],
    groups: NDArray[np.int64],
    clusters: NDArray[np.int64] | None = None,
    share: float = 0.0,
) -> tuple[float, ...]:
    """Return for each column the p-value of a mean difference that is the same in all groups.

    `differences` has the shape (cases, tests); `groups` numbers the group of each case from 0.
    The statistic is the sum of squares between groups, over that of all differences less their
    mean. Under the null hypothesis each difference less the mean might as well have the other
    sign: the wild bootstrap (Liu, Annals of Statistics 1988), which allows groups of unequal
    variance, by the same draws of signs as `randomise_family`. p-values are adjusted for all
    columns, by the largest statistic of each draw. They are 1 if nothing varies, or if there is one
    group.

    `clusters` numbers those of cases that are not independent, which may reach across groups:
    signs are then drawn as `randomise_family` does of such, of which these are a `share`.
    """
    away = differences - differences.mean(axis=0)
    total = np.sum(away**2, axis=0)
    varied = np.flatnonzero(total > TIE**2)
    p_values = np.ones(differences.shape[1])
    sizes = np.bincount(groups)
    if len(varied) and np.count_nonzero(sizes) > 1:
        scaled = (away[:, varied] / np.sqrt(total[varied])).astype(np.float32)
        if clusters is None or are_single(clusters):
            clusters, share = np.arange(len(scaled)), 0.0
        independent = np.empty((count_signs(clusters, share), 1), dtype=np.float32)
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
        for signs in list_signs(independent):
            largest = measure(draw_weights(signs, clusters, share)).max(axis=1)
            beyond += np.count_nonzero(largest[:, None] >= seen - SAME, axis=0)
            draws += len(largest)
        # What was seen counts as a draw too.
        extra = 0 if len(independent) <= MOST_ENUMERATED else 1
        p_values[varied] = (beyond + extra) / (draws + extra)
    return tuple(p_values.tolist())
