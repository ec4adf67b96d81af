"""The number of tokens of the chunks of a collection."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

PERCENTILES = (50, 75, 90, 95, 99)
# From, up to but not including.
RANGES = ((0, 200), (200, 800), (800, 1500), (1500, 7900), (7900, None))
MOST_BINS = 12
STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Bin:
    """The chunks of `low` to below `high` tokens; no `high` means any number from `low`."""

    low: int
    high: int | None
    chunks: int

    @property
    def label(self) -> str:
        """The range in words."""
        return f"{self.low:,} and more" if self.high is None else f"{self.low:,}–{self.high - 1:,}"


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """The tokens of every chunk, smallest first."""

    sizes: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Iterable[int]) -> "TokenCounts":
        """Take the sizes of the chunks, in any order."""
        return cls(tuple(sorted(sizes)))

    @property
    def largest(self) -> int:
        """The tokens of the largest chunk; 0 without any."""
        return self.sizes[-1] if self.sizes else 0

    def percentiles(self) -> dict[str, float]:
        """Return percentiles by linear interpolation, `p50` and so on; empty without chunks."""
        if not self.sizes:
            return {}
        return {f"p{i}": float(np.percentile(self.sizes, i)) for i in PERCENTILES}

    def figures(self) -> dict[str, int | float]:
        """Return the sum, the average, the least, the percentiles and the largest."""
        total = sum(self.sizes)
        ends = {"total": total, "average": total / max(len(self.sizes), 1)}
        ends["min"] = min(self.sizes, default=0)
        return {**ends, **self.percentiles(), "max": self.largest}

    @property
    def words(self) -> str:
        """The percentiles and the largest chunk in one line; "" without chunks."""
        found = [f"{name} {value:,.0f}" for name, value in self.percentiles().items()]
        return ", ".join([*found, f"largest {self.largest:,}"]) if found else ""

    def ranges(self) -> tuple[Bin, ...]:
        """Return the chunks in each of the five ranges."""
        return tuple(self._bin(low, high) for low, high in RANGES)

    def histogram(self) -> tuple[Bin, ...]:
        """Return the chunks in at most twelve bins of one round width."""
        widths = (step * 10**power for power in range(12) for step in STEPS)
        width = next(width for width in widths if self.largest // width < MOST_BINS)
        return tuple(self._bin(low, low + width) for low in range(0, self.largest + 1, width))

    def _bin(self, low: int, high: int | None) -> Bin:
        end = len(self.sizes) if high is None else bisect_left(self.sizes, high)
        return Bin(low, high, end - bisect_left(self.sizes, low))
