"""The verdicts of the gate: on each measure, on latency, and on the run."""

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
    """The verdict on a percentile of latency, in milliseconds, with both timed in one job.

    Attributes:
        percentile: The percentile, from 0 to 100.
        verdict: The verdict.
        base: The percentile of the base.
        head: The percentile of the head.
        ratio: head / base, with its interval.
        limit: The largest ratio that passes.
        load: The load of the machine during the timing.
        busy: True if the load by others is too high to judge the ratio.

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

    The run is judged against the accepted scores of the baseline; or, if the collection changed,
    against the baseline's pipeline on today's collection.

    Attributes:
        baseline: The accepted baseline.
        head: The run that is judged.
        false_alarms: The level that a p-value must reach for a regression.
        measures: The verdict on each gated measure.
        guarded: The ids of the queries that must not break.
        broken: Those of them that did.
        losers: The queries that lost most by the first gated measure.
        changes: The changes of config and code since the baseline.
        latency: The verdicts on latency; empty if it was not measured.
        claims: The claims that the queries can support.
        opposite: The verdicts of the claim that does not lead, by measure; empty if both claims
            have the same test, or the queries cannot support that claim.
        rebuild: The effect of another index build; None if each gives the same rankings.
        collection: The changes of the collection; None for none.

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
        """The most serious of all verdicts: regression, warning, cannot tell, pass."""
        if self.broken:
            return "regression"
        found = {item.verdict for item in self.measures} | {item.verdict for item in self.latency}
        if self.unsettled:
            found.add("cannot tell")
        grave: tuple[Verdict, ...] = ("regression", "warning", "cannot tell")
        return next((verdict for verdict in grave if verdict in found), "pass")

    @property
    def unsettled(self) -> str:
        """The reason why a possible drop is not judged, in sentences; "" if all are judged.

        Another build of the index may differ as much, or code changed whose effect is not known.
        """
        if self.rebuild and self.rebuild.scores is None:
            doubted = self.guarded or any(item.verdict == "cannot tell" for item in self.measures)
            if doubted:
                return self.rebuild.words
        return self.collection.untested if self.collection else ""

    @property
    def claim(self) -> str:
        """The claim of the verdict, and the verdicts of the other claim that differ, in words."""
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
        """A sentence on the share of judgments by language models; "" if there are none."""
        return describe_models(self.head.gold.values())

    @property
    def unnoticed(self) -> float:
        """The largest share of a gated mean that could be lost unnoticed; 0 for none.

        See `find_unnoticed`. It is 0 too if the pipeline did not change.
        """
        if self.collection and self.collection.same:
            return 0.0
        return find_unnoticed(self.measures)

    def fails(self, strict: bool) -> bool:
        """Return True if CI has to fail: on a regression; if `strict`, on all but a pass."""
        return self.verdict == "regression" or (strict and self.verdict != "pass")
