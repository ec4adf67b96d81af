"""Bounds on the mean of a finite population that is drawn in random order and watched throughout.

Who believes that the mean is `mean` or more can be bet against, draw by draw, at odds that are fair
at worst; that a stake ever grows to 1 / risk then has a chance of `risk` at most, whatever the
population and however often one looks (Ville's inequality). Waudby-Smith and Ramdas, "Estimating
means of bounded random variables by betting", JRSS B 2024, 2 and 5, without replacement: what the
rest must have in the mean is known from what was drawn. Plain numbers only.
"""

import numpy as np
from numpy.typing import NDArray

# Shares of the stake that are bet, a third of it each way: small ones suit scattered values.
FRACTIONS = np.array([0.25, 0.5, 0.99])[:, None, None]
STEPS = 2000
TINY = 1e-9
DECIMALS = 12


def find_wealth(
    drawn: NDArray[np.float64],
    means: NDArray[np.float64] | float,
    size: int,
    highest: float,
    start: int = 0,
) -> NDArray[np.float64]:
    """Return the logarithm of the most that a stake of 1 against `means` has ever grown to.

    `drawn`, of shape (populations, draws), are the first draws from populations of `size` values of
    at most `highest`,
    """
    seen = drawn.shape[1]
    before = np.cumsum(drawn, axis=1) - drawn
    needed = ((size * np.reshape(means, (-1, 1)) - before) / (size - np.arange(seen)))[:, start:]
    room = np.maximum(highest - needed, TINY)
    odds = np.maximum((needed - drawn[:, start:]) / room, -1.0)
    grown = np.cumsum(np.log1p(FRACTIONS * odds), axis=2)
    together = np.logaddexp.reduce(grown, axis=0) - np.log(len(FRACTIONS))
    most: NDArray[np.float64] = together.max(axis=1, initial=0.0)
    return most


def bound_means(
    drawn: NDArray[np.float64], size: int, highest: float, risk: float, start: int = 0
) -> NDArray[np.float64]:
    """Return for each population the least mean against which a stake has grown to 1 / `risk`.

    `drawn` is as for `find_wealth`, of values from -`highest` to `highest`; means are looked for in
    2,000 steps. That a population's bound is ever below its mean has a chance of at most `risk`.

    >>> float(bound_means(np.zeros((1, 50)), 100, 1.0, 0.05)[0])
    0.056
    """
    low, high = np.zeros(len(drawn), dtype=int), np.full(len(drawn), STEPS)
    while np.any(low < high):
        middle = (low + high) // 2
        wealth = find_wealth(drawn, highest * (2 * middle / STEPS - 1), size, highest, start)
        enough = wealth >= -np.log(risk)
        high = np.where(enough, middle, high)
        low = np.where(enough, low, np.minimum(middle + 1, high))
    bounds: NDArray[np.float64] = np.round(highest * (2 * high / STEPS - 1), DECIMALS)
    return bounds
