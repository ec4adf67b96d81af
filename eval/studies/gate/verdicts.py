"""What the gate found: the verdict on each measure, on latency, and on the run."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.eval.collections.judgment_source import describe_models
from assay.eval.runs.machine_load import MachineLoad
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.gate.attribution import CollectionChange
from assay.eval.studies.gate.baseline import Baseline
from assay.eval.studies.gate.measure_verdicts import MeasureVerdict, Verdict, find_unnoticed
from assay.eval.studies.gate.query_changes import QueryChange
from assay.eval.studies.gate.rebuild import Rebuild


@dataclass(frozen=True, slots=True)
class LatencyVerdict:
    """What became of a percentile of latency, in milliseconds, both timed in one job.

    `load` is who worked on the machine meanwhile. `busy` says that others did so much that the
    ratio cannot be judged.
    """

    percentile: int
    verdict: Verdict
    base: float
    head: float
    ratio: Estimate
    limit: float
    load: MachineLoad
    busy: bool


@dataclass(frozen=True)
class GateVerdict:
    """The verdict on a run.

    `guarded` are the ids of the queries that must not break and `broken` those of them that did;
    `losers` are the queries that lost most by the first gated measure. `changes` says what of
    config and code changed since the baseline. `latency` is empty where none was measured.
    `rebuild` is what another build of the index does, None where each gives the same rankings.
    `collection` is what changed of the collection, None where nothing did: the base is then the
    baseline's pipeline on today's collection, else its scores as they were accepted.
    `false_alarms` is the level that a p-value must reach. `claims` are what the queries can be a
    verdict on, and `opposite` has the verdicts by measure for the claim that does not lead; it is
    empty where both are one, or that one cannot be told.
    """

    baseline: Baseline
    head: StoredRun
    false_alarms: float
    measures: tuple[MeasureVerdict, ...]
    guarded: tuple[str, ...]
    broken: tuple[QueryChange, ...]
    losers: tuple[QueryChange, ...]
    changes: tuple[str, ...]
    latency: tuple[LatencyVerdict, ...]
    claims: Claims
    opposite: Mapping[str, Verdict]
    rebuild: Rebuild | None = None
    collection: CollectionChange | None = None

    @property
    def verdict(self) -> Verdict:
        """The gravest of all: regression, warning, cannot tell, pass."""
        if self.broken:
            return "regression"
        found = {item.verdict for item in self.measures} | {item.verdict for item in self.latency}
        if self.unsettled:
            found.add("cannot tell")
        grave: tuple[Verdict, ...] = ("regression", "warning", "cannot tell")
        return next((verdict for verdict in grave if verdict in found), "pass")

    @property
    def unsettled(self) -> str:
        """Why what may be a drop is not judged, in sentences; "" where all is.

        Another build of the index may be as different, or code changed that was not run.
        """
        if self.rebuild and self.rebuild.scores is None:
            doubted = self.guarded or any(item.verdict == "cannot tell" for item in self.measures)
            if doubted:
                return self.rebuild.words
        return self.collection.untested if self.collection else ""

    @property
    def claim(self) -> str:
        """What the verdict is on, and what the other claim's verdicts are where they differ."""
        differing = [
            f"{item.measure} {found}"
            for item in self.measures
            if (found := self.opposite.get(item.measure, item.verdict)) != item.verdict
        ]
        if not differing:
            return self.claims.sentence
        other = self.claims.name(self.claims.other)
        return f"{self.claims.sentence} {other[0].upper()}{other[1:]}: {', '.join(differing)}."

    @property
    def models(self) -> str:
        """What share of the judgments is a language model's, in a sentence; "" where none is."""
        return describe_models(self.head.gold.values())

    @property
    def unnoticed(self) -> float:
        """The largest share of a gated mean that the queries are too few to miss; 0 where none is.

        A loss below the minimum effect does not count, and a pipeline that did not change has none.
        """
        if self.collection and self.collection.same:
            return 0.0
        return find_unnoticed(self.measures)

    def fails(self, strict: bool) -> bool:
        """Say whether CI is to fail: on a regression; if `strict` on all that is no pass."""
        return self.verdict == "regression" or (strict and self.verdict != "pass")
