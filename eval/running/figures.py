"""The figures of one point of a sweep: a combination of settings on one collection."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.eval.running.search_space import Point
from assay.eval.runs.json_form import in_json, or_null
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.summary.cost import Cost
from assay.eval.runs.summary.summary import Summary
from assay.eval.statistics.estimates import Estimate, OpenEstimate

COST = "p95"  # of latency


@in_json("degraded", "cost", run=or_null("run"), measures="means", latency_ms="latency")
@dataclass(frozen=True)
class Figures:
    """The figures of a run in a sweep: means and scores by measure, latency percentiles in ms.

    `run` is its id, "" where none is stored.
    """

    run: str
    means: Mapping[str, Estimate]
    scores: Mapping[str, Mapping[str, float]]
    latency: Mapping[str, OpenEstimate]
    degraded: Mapping[str, int]
    cost: Cost | None = None

    @property
    def p95(self) -> float | None:
        """Milliseconds; None where nothing was timed."""
        return self.latency[COST].value if self.latency else None

    @property
    def usd(self) -> float | None:
        """US dollars for a thousand queries: 0 of what runs here, None where some price is not
        known.
        """
        return self.cost.queries if self.cost else 0.0

    @classmethod
    def of(cls, summary: Summary) -> "Figures":
        """Return the figures of a run."""
        manifest = summary.run.manifest
        latency = summary.latency.get(TOTAL, {})
        return cls(
            manifest.id, summary.means, summary.scores, latency, manifest.degraded, summary.cost
        )


@dataclass(frozen=True)
class PointResult:
    """One combination on one collection: the figures of its run, or the reason for its failure."""

    settings: Point
    collection: str
    figures: Figures | None = None
    failure: str = ""
