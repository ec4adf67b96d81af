"""What each leg's own list scores beside the list that they were fused into."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.candidate_lists import FUSION, LEG, Trail, follow, order_steps
from assay.eval.runs.summary.means import estimate_changes, estimate_scores
from assay.eval.scoring import measures
from assay.eval.scoring.join import RetrievedChunk, join
from assay.eval.statistics.estimates import Estimate


@dataclass(frozen=True, slots=True)
class LegAlone:
    """One leg of a run: means of `measure` of its own list and of the fused one, before any stage.

    `gain` is what the leg scores above the fusion, paired by query.
    """

    leg: str
    measure: str
    scored: Estimate
    fused: Estimate
    gain: Estimate

    @property
    def words(self) -> str:
        """The figures in a sentence."""
        sure = "does better than" if self.gain.low > 0 else "did better here than"
        return (
            f"The leg {self.leg} alone {sure} the fusion: {self.measure} "
            f"{self.scored.value:.3f} against {self.fused.value:.3f}, {self.gain.value:+.3f} "
            f"(95 % interval {self.gain.low:+.3f} … {self.gain.high:+.3f}). Use that leg alone, or "
            "fit the fusion: `assay tune`"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return asdict(self)


def score_legs(run: StoredRun, measure: str) -> tuple[LegAlone, ...]:
    """Return the legs of a run in their order; none where nothing was fused, or of answers."""
    if measures.find(measure).of_answers:
        return ()
    entries = (entry for it in run.rankings.values() for entry in it.trace)
    fusion = next((entry.name for entry in entries if entry.kind == FUSION), None)
    if fusion is None:
        return ()
    trails = follow(run)
    fused = _score(run, trails, fusion, measure)
    if not fused:
        return ()
    names = order_steps(trails)
    kinds = {step.name: step.kind for trail in trails for step in trail.steps}
    return tuple(
        _compare(name, measure, _score(run, trails, name, measure), fused)
        for name in names
        if kinds[name] == LEG
    )


def _score(run: StoredRun, trails: Sequence[Trail], step: str, measure: str) -> Mapping[str, float]:
    """Return the score of every query's list after a step; nothing where no query passed it."""
    lists = {
        trail.query: next((item.ranks for item in trail.steps if item.name == step), None)
        for trail in trails
    }
    if not any(ranks is not None for ranks in lists.values()):
        return {}
    joined = {
        trail.query: join(
            [
                RetrievedChunk(trail.chunks[id_], id_ in run.prescribed)
                for id_ in list(lists[trail.query] or ())[: run.manifest.depth]
            ],
            run.gold[trail.query],
        )
        for trail in trails
    }
    return measures.score([measure], joined, run.gold)[measure]


def _compare(
    leg: str, measure: str, alone: Mapping[str, float], fused: Mapping[str, float]
) -> LegAlone:
    return LegAlone(
        leg=leg,
        measure=measure,
        scored=estimate_scores(measure, alone.values()),
        fused=estimate_scores(measure, fused.values()),
        gain=estimate_changes(measure, (score - fused[query] for query, score in alone.items())),
    )
