"""With what power a test of drops finds one of a given size. Plain numbers only.

A mean can drop in two ways. A spread drop lowers every case a little, and leaves the differences
varying as they do; a sparse one takes everything from a few cases, and varies the more for it. The
first is the easier to find, and nothing tells beforehand which it will be: what is stated is the
lesser power of the two.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import SEED
from assay.eval.statistics.significance import POWER, TIE, spread

DRAWS = 1000
BISECTIONS = 12

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DropPower:
    """The power with which a drop of the mean of `scores` is found, of n cases with n > 1.

    `differences`, of shape (n,), are how the scores of the same cases vary without it. A drop is
    found when the mean difference is `minimum` or more below 0, and `critical` standard errors or
    more (see `max_t.DropTest`), and so many cases moved that random signs can reach the `level`.
    """

    scores: Numbers
    differences: Numbers
    critical: float
    level: float
    minimum: float

    def state(self, drop: float) -> float:
        """Return the power with which a true `drop` is found, however it comes about."""
        return min(self.state_spread(drop), self.state_sparse(drop))

    def find(self) -> float | None:
        """Return the smallest drop that is found with power 0.8; None where none is."""
        low, high = 0.0, float(np.mean(self.scores))
        if not high > 0 or self.state(high) < POWER:
            return None
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.state(middle) >= POWER else (middle, high)
        return high

    def state_spread(self, drop: float) -> float:
        """Return the power where all cases drop alike, by the normal approximation."""
        n = len(self.scores)
        deviation = spread(self.differences.tolist()) or 0.0
        # Random signs turn the drop itself into spread.
        limit = max(self.minimum, self.critical * math.hypot(deviation, drop) / math.sqrt(n))
        error = deviation / math.sqrt(n)
        return NormalDist().cdf((drop - limit) / error) if error else float(drop >= limit)

    def state_sparse(self, drop: float) -> float:
        """Return the power where a share of the cases lose all their score, by simulation.

        Cases are drawn with replacement, each with its difference, and each loses everything with
        the same chance. The draws are those of a fixed seed.
        """
        scores, differences, chances = self._draws
        share = drop / float(np.mean(self.scores))
        changed = np.where(chances < share, -scores, differences)
        means = changed.mean(axis=1)
        error = np.sqrt(np.mean(changed**2, axis=1) / len(self.scores))
        moved = np.count_nonzero(np.abs(changed) > TIE, axis=1)
        found = (means <= TIE - self.minimum) & (means <= -self.critical * error)
        return float(np.mean(found & (0.5**moved <= self.level)))

    @cached_property
    def _draws(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Scores, differences that cancel out, and chances, each of shape (draws, n)."""
        n = len(self.scores)
        rng = np.random.default_rng(SEED)
        drawn = rng.integers(n, size=(DRAWS, n))
        moved = np.abs(self.differences) > TIE
        level = self.differences.sum() / max(1, int(np.count_nonzero(moved)))
        centred = np.where(moved, self.differences - level, 0.0)
        return (
            self.scores.astype(np.float32)[drawn],
            centred.astype(np.float32)[drawn],
            rng.random((DRAWS, n), dtype=np.float32),
        )
