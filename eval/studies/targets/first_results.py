"""Measurements of a query's first results: their number of documents and their similarity."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.estimates import SHARE
from assay.eval.statistics.groups import estimate_clustered_mean
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


class Documents(BaseMeasurement):
    """The share of queries whose first results come from several documents.

    `counted` is for conditions that every query should meet: the number of queries that do not.
    """

    type: Literal["documents"]
    depth: int = Field(5, ge=1, description="how many results are looked at")
    documents: int = Field(3, ge=1, description="from how many documents they should come")
    counted: bool = Field(False, description="count the queries that fall short, in place of that")

    @property
    def unit(self) -> Unit:
        """The unit of the value and the limits."""
        return "count" if self.counted else "share"

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        wanted = f"{self.documents} documents or more"
        hold = f"do not hold {wanted}" if self.counted else f"hold {wanted}"
        return f"queries whose top {self.depth} {hold}, {self.pipeline} on {self.dataset}"

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the share, or the number of queries that fall short, which has no interval.

        A ranking whose results have fewer documents in total is left out.
        """
        run = lab.run(self.pipeline, self.dataset)
        by_query = {
            query: [hit.chunk.doc_id for hit in ranking.hits]
            for query, ranking in run.rankings.items()
        }
        asked = [query for query, ids in by_query.items() if len(set(ids)) >= self.documents]
        good = [len(set(by_query[query][: self.depth])) >= self.documents for query in asked]
        if not good:
            raise AssayError(f"{run.manifest.id}: no ranking has {self.documents} documents")
        if self.counted:
            few = len(by_query) - len(good)
            note = f"{few} more have results of fewer documents" if few else ""
            found = exact(len(good) - sum(good), len(good))
            return self.tell(found, f"of {len(good)} queries", note, runs=[run])
        claims = Claims.of(run)
        found = estimate_clustered_mean(good, claims.cluster(asked), SHARE)
        return self.tell(found, tell_claim(claims), runs=[run])


class Similarity(PairedMeasurement):
    """The paired change of how alike a query's first results are, from one pipeline to another.

    The similarity is the mean cosine of all pairs of results, by the default encoder.
    """

    usual_unit: ClassVar[Unit] = "difference"
    type: Literal["similarity"]
    depth: int = Field(5, ge=2, description="how many results are looked at")

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        return (
            f"change of the mean cosine within the top {self.depth}, {self.base} → "
            f"{self.pipeline}, on {self.dataset}"
        )

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the change over the queries for which both runs have two results or more."""
        runs = self.find_runs(lab)
        old, new = (
            {
                query: [hit.chunk.text for hit in ranking.hits[: self.depth]]
                for query, ranking in run.rankings.items()
            }
            for run in runs
        )
        both = [query for query in old if min(len(old[query]), len(new[query])) > 1]
        if not both:
            raise AssayError(f"{self.pipeline}: no query has two results in both runs")
        lists = [shown[query] for shown in (old, new) for query in both]
        alike = [float(np.mean(cosines[np.triu_indices(len(cosines), k=1)]))
                 for cosines in _compare(lists, lab)]  # fmt: skip
        before, after = alike[: len(both)], alike[len(both) :]
        claims = Claims.of(runs[0])
        differences = [late - early for early, late in zip(before, after, strict=True)]
        changed = estimate_clustered_mean(differences, claims.cluster(both))
        note = f"{np.mean(before):.3f} → {np.mean(after):.3f}"
        return self.tell(changed, note, tell_claim(claims), runs=runs)


class Duplicates(BaseMeasurement):
    """The share of duplicates among the first results of all queries.

    A duplicate is a result with a cosine of `over` or more with an earlier one, by the default
    encoder.
    """

    usual_unit: ClassVar[Unit] = "count"
    type: Literal["duplicates"]
    depth: int = Field(10, ge=2, description="how many results are looked at")
    over: float = Field(0.85, gt=-1, lt=1, description="the cosine from which two results are one")

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        return (
            f"results within the top {self.depth} of a cosine of {self.over:g} or more with one "
            f"before, {self.pipeline} on {self.dataset}"
        )

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the number of duplicates, a count without an interval."""
        run = lab.run(self.pipeline, self.dataset)
        shown = [
            [hit.chunk.searchable for hit in ranking.hits[: self.depth]]
            for ranking in run.rankings.values()
        ]
        number = sum(
            int(np.sum(np.any(np.tril(cosines, k=-1) >= self.over, axis=1)))
            for cosines in _compare(shown, lab)
        )
        note = f"of {sum(map(len, shown)):,} results"
        return self.tell(exact(number, len(shown)), note, runs=[run])


def _compare(lists: Sequence[Sequence[str]], lab: TargetLab) -> list[NDArray[np.floating]]:
    """Return the matrix of cosines of each list of texts, by the default encoder."""
    texts = sorted({text for listed in lists for text in listed})
    vectors = dict(zip(texts, lab.encode(texts), strict=True))
    found = []
    for listed in lists:
        matrix = np.array([vectors[text] for text in listed]).reshape(len(listed), -1)
        found.append(matrix @ matrix.T)
    return found
