"""Measurements of the mean of a measure: by itself, or as the change between two pipelines."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.attribution import STATUSES, attribute
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.means import estimate_changes, estimate_scores
from assay.eval.scoring import measures
from assay.eval.scoring.kinds import Hit
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.groups import estimate_clustered_ratio
from assay.eval.statistics.max_t import randomise_family
from assay.eval.statistics.significance import randomise
from assay.eval.studies.targets.lab import TargetLab
from assay.eval.studies.targets.limits import Unit
from assay.eval.studies.targets.measurement import (
    BaseMeasurement,
    PairedMeasurement,
    exact,
    tell_claim,
)
from assay.eval.studies.targets.results import MeasuredValue
from assay.retrievers.base import AssayError

COMPLEMENT = "1-"  # prefix of a measure for 1 minus its score, as in 1-Recall@20


class ScoredMeasurement(BaseMeasurement):
    """A measurement that scores queries."""

    measure: str = Field(description=f"its name; `{COMPLEMENT}` before it: what is missing from 1")
    query_types: list[str] = Field(
        default_factory=list, description="only the queries of these types; none named: all"
    )

    @property
    def plain_measure(self) -> str:
        """The name of the measure without the prefix."""
        return self.measure.removeprefix(COMPLEMENT)

    @property
    def complemented(self) -> bool:
        """True if the measurement is of 1 minus the score."""
        return self.measure.startswith(COMPLEMENT)

    @property
    def shown(self) -> str:
        """The name of the measure for sentences. Raises AssayError if there is no such measure."""
        name = measures.find(self.plain_measure).name
        return f"1 − {name}" if self.complemented else name

    @property
    def place(self) -> str:
        """The collection and the types of query."""
        types = f" ({', '.join(self.query_types)})" if self.query_types else ""
        return f"{self.dataset}{types}"

    def choose(self, run: StoredRun) -> list[str]:
        """Return the ids of the queries to measure, in the order of the run."""
        wanted = self.query_types
        known = {query.type for query in run.queries.values()} - {""}
        if unknown := sorted(set(wanted) - known):
            there = ", ".join(sorted(known)) or "none"
            raise AssayError(
                f"query_types: {unknown[0]}: {run.manifest.collection.name} has no such queries; "
                f"its types: {there}"
            )
        return [id_ for id_, query in run.queries.items() if not wanted or query.type in wanted]

    def score(self, run: StoredRun) -> list[float]:
        """Return the score of each chosen query."""
        (scores,) = run.score([self.plain_measure]).values()
        return [1 - scores[i] if self.complemented else scores[i] for i in self.choose(run)]


class Score(ScoredMeasurement):
    """The mean of a measure.

    `census` says that the queries are all there are of their kind, not a sample of them: their
    mean is then exact.
    """

    usual_unit: ClassVar[Unit] = "score"
    type: Literal["score"]
    census: bool = Field(False, description="the queries are all of their kind, not a sample")

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        return f"{self.shown} of {self.pipeline} on {self.place}"

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the mean over the queries of the wanted types.

        If some queries have nothing relevant in the first results, the note says where it was lost.
        """
        run = lab.run(self.pipeline, self.dataset)
        chosen, scores = self.choose(run), self.score(run)
        note, measure = "", measures.find(self.plain_measure)
        if not self.complemented and isinstance(measure, Hit) and measure.cutoff:
            lost = [query for query, score in zip(chosen, scores, strict=True) if not score]
            note = _explain(run, measure.cutoff, lost) if lost else ""
        if self.census:
            return self.tell(exact(float(np.mean(scores)), len(scores)), note, runs=[run])
        claims = Claims.of(run)
        estimate = estimate_scores(measure.name, scores, claims.cluster(chosen))
        return self.tell(estimate, note, tell_claim(claims), runs=[run])


class Change(PairedMeasurement, ScoredMeasurement):
    """The paired change of the mean of a measure from one pipeline to another."""

    type: Literal["change"]
    relative: bool = Field(True, description="as a share of the base's mean")

    @property
    def unit(self) -> Unit:
        """The unit of the value and the limits."""
        return "change" if self.relative else "difference"

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        kind = "relative change" if self.relative else "change"
        return f"{kind} of {self.shown}, {self.base} → {self.pipeline}, on {self.place}"

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the change of the mean, with its paired interval."""
        base, other = runs = self.find_runs(lab)
        old, new = self.score(base), self.score(other)
        before, after = float(np.mean(old)), float(np.mean(new))
        differences = [late - early for early, late in zip(old, new, strict=True)]
        claims = Claims.of(base)
        clusters = claims.cluster(self.choose(base))
        p = randomise(differences)
        if clusters is not None:
            column = np.array(differences)[:, None]
            by_group = randomise_family(column, groups=clusters.numbers, share=clusters.share)
            p = max(p, by_group.p_values[0])
        note = f"{before:.3f} → {after:.3f}, p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}"
        if self.relative:
            ratio = estimate_clustered_ratio(old, new, clusters)
            if not all(map(math.isfinite, (ratio.value, ratio.low, ratio.high))):
                raise AssayError(
                    f"{self.base}: {self.shown} is 0 in too many resamples, so that no share is "
                    "known"
                )
            changed = Estimate(ratio.value - 1, ratio.low - 1, ratio.high - 1, ratio.n)
        else:
            changed = estimate_changes(self.plain_measure, differences, clusters)
        return self.tell(changed, note, tell_claim(claims), runs=runs)


def _explain(run: StoredRun, k: int, queries: Sequence[str]) -> str:
    """Describe where the answers to `queries` were lost, by the nearest answer of each query."""
    items = attribute(run, k).items
    nearest = [
        min(items[query], key=lambda item: STATUSES.index(item.status))
        for query in queries
        if items[query]
    ]
    statuses = Counter(
        f"{item.status} by {item.where}" if item.status in ("demoted", "filtered") else item.status
        for item in nearest
    )
    told = ", ".join(f"{number} {status}" for status, number in statuses.most_common())
    return f"of {len(queries)} not in the first {k}: {told}"
