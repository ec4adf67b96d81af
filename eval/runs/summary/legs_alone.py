"""The scores of each leg's own list, compared with the list that the legs were fused into."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.eval.runs.stored import StoredRun
from assay.eval.runs.stored_files import mentioning
from assay.eval.runs.summary.candidate_lists import FUSION, LEG, follow
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.means import estimate_changes, estimate_scores
from assay.eval.scoring import measures
from assay.eval.scoring.joined import JoinedRankings, NumberLists
from assay.eval.statistics.estimates import Estimate


@dataclass(frozen=True, slots=True)
class LegAlone:
    """One leg of a run: means of `measure` of its own list and of the fused one, before any stage.

    `gain` is the leg's score less that of the fusion, paired by query.
    """

    leg: str
    measure: str
    scored: Estimate
    fused: Estimate
    gain: Estimate

    @property
    def words(self) -> str:
        """The figures in a sentence."""
        verb, advice = (
            ("does better", "Use that leg alone, or fit the fusion: `assay tune`")
            if self.gain.low > 0
            else ("did better here", "That may be chance; `assay tune` fits the fusion")
        )
        return (
            f"The leg {self.leg} alone {verb} than the fusion: {self.measure} "
            f"{self.scored.value:.3f} against {self.fused.value:.3f}, {self.gain.value:+.3f} "
            f"(95 % interval {self.gain.low:+.3f} … {self.gain.high:+.3f}). {advice}"
        )


def score_legs(run: StoredRun, measure: str) -> tuple[LegAlone, ...]:
    """Return the legs of a run in order; none if nothing was fused or the measure is of answers."""
    if measures.find(measure).of_answers:
        return ()
    traces = (ranking.trace for ranking in mentioning(run.rankings, f'"{FUSION}"'))
    fusion = next((entry.name for trace in traces for entry in trace if entry.kind == FUSION), None)
    if fusion is None:
        return ()
    joined = _join_lists(run, fusion)
    fused = joined.pop(fusion, None)
    if fused is None:
        return ()
    before = measures.score([measure], fused, run.gold)[measure]
    clusters = Claims.of(run).cluster(before)
    mean = estimate_scores(measure, before.values(), clusters)
    legs = []
    for leg, lists in joined.items():
        alone = measures.score([measure], lists, run.gold)[measure]
        changes = (score - before[query] for query, score in alone.items())
        scored = estimate_scores(measure, alone.values(), clusters)
        legs.append(
            LegAlone(leg, measure, scored, mean, estimate_changes(measure, changes, clusters))
        )
    return tuple(legs)


def _join_lists(run: StoredRun, fusion: str) -> dict[str, JoinedRankings]:
    """Return the joined lists of the legs and of the step `fusion`, by step."""
    found: dict[str, dict[str, Sequence[int]]] = {}
    for trail in follow(run):
        for step in trail.steps:
            if step.kind == LEG or step.name == fusion:
                found.setdefault(step.name, {})[trail.query] = step.numbers
    return {name: run.join(_cut(run, lists)) for name, lists in found.items()}


def _cut(run: StoredRun, lists: Mapping[str, Sequence[int]]) -> NumberLists:
    """Return the lists as deep as the run's own, empty ones where there are none."""
    cut = NumberLists()
    for query in run.queries:
        cut.add(lists.get(query, ())[: run.manifest.depth])
    return cut
