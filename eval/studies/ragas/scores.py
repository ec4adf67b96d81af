"""The scores of one metric, and the reasons for missing scores."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.eval.studies.ragas.metrics import Metric
from assay.eval.studies.ragas.samples import Sample

Outcome = float | str  # a score, or in one phrase the reason for none


@dataclass(frozen=True)
class Scores:
    """The outcomes of one metric by query id, in the order of the samples.

    `empty` queries had no hit and score 0, because ragas has no score for them.
    """

    metric: Metric
    outcomes: Mapping[str, Outcome]
    empty: tuple[str, ...] = ()

    @cached_property
    def values(self) -> dict[str, float]:
        """The scores by query id."""
        return {i: value for i, value in self.outcomes.items() if not isinstance(value, str)}

    @cached_property
    def missing(self) -> dict[str, str]:
        """The reasons for missing scores by query id; these queries are left out of means."""
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
    # In the order of the samples, not of the answers: intervals depend on it.
    return [
        Scores(
            metric,
            {sample.query: found[metric.name, sample.query] for sample in samples},
            tuple(sample.query for sample in samples if not sample.contexts),
        )
        for metric in metrics
    ]


def is_score(value: float) -> bool:
    """Return True if `value` is a score; average precision may exceed 1 by rounding."""
    return not math.isnan(value) and -1e-6 <= value <= 1 + 1e-6
