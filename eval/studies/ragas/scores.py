"""The scores of one metric, and what became of the queries that have none."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.eval.studies.ragas.metrics import Metric
from assay.eval.studies.ragas.samples import Sample

Outcome = float | str  # a score, or in one phrase why there is none


@dataclass(frozen=True)
class Scores:
    """What became of each query, by its id, in the order of the samples.

    `empty` queries had no hit and score 0, because ragas has no score for them.
    """

    metric: Metric
    outcomes: Mapping[str, Outcome]
    empty: tuple[str, ...] = ()

    @cached_property
    def values(self) -> dict[str, float]:
        """The scores."""
        return {i: value for i, value in self.outcomes.items() if not isinstance(value, str)}

    @cached_property
    def missing(self) -> dict[str, str]:
        """Why there is no score; these queries enter no mean."""
        return {i: why for i, why in self.outcomes.items() if isinstance(why, str)}

    @property
    def reasons(self) -> dict[str, int]:
        """The reasons for missing scores, the most frequent first, with the number of queries."""
        return dict(Counter(self.missing.values()).most_common())


def gather(
    metrics: Sequence[Metric],
    samples: Sequence[Sample],
    found: Mapping[tuple[str, str], Outcome],
) -> list[Scores]:
    """Return the scores of metrics; `found` has the outcomes by metric and query."""
    # In the order of the samples, not in that of the answers: intervals depend on it.
    return [
        Scores(
            metric,
            {sample.query: found[metric.name, sample.query] for sample in samples},
            tuple(sample.query for sample in samples if not sample.contexts),
        )
        for metric in metrics
    ]


def is_score(value: float) -> bool:
    """Say whether what a metric returned is a score; average precision may exceed 1 by rounding."""
    return not math.isnan(value) and -1e-6 <= value <= 1 + 1e-6
