"""The scores of one metric, and what became of the queries that have none."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.eval.studies.ragas.metrics import Metric


@dataclass(frozen=True)
class Scores:
    """Scores by query id.

    `empty` queries had no hit and score 0, because ragas has no score for them. `missing` gives
    by query id why there is no score at all; these queries enter no mean.
    """

    metric: Metric
    values: Mapping[str, float]
    empty: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def reasons(self) -> dict[str, int]:
        """The reasons for missing scores, the most frequent first, with the number of queries."""
        return dict(Counter(self.missing.values()).most_common())


def is_score(value: float) -> bool:
    """Say whether what a metric returned is a score; average precision may exceed 1 by rounding."""
    return not math.isnan(value) and -1e-6 <= value <= 1 + 1e-6
