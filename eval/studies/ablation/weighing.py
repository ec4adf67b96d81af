"""The rows of an ablation, made from runs with a part and without it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.estimates import OpenEstimate, estimate_percentile
from assay.eval.studies.ablation.analysis import Row, Times
from assay.eval.studies.ablation.variants import PipelinePart, Variant
from assay.eval.studies.comparison.differences import Claimed, Contrast, judge_claims

TOKENS = "Tokens@10"
TOP = 10


@dataclass(frozen=True)
class RunScores:
    """The data that an ablation needs of a run.

    Attributes:
        run: The id of the run.
        scores: The scores by measure and query.
        hits: The ids of the hits by query.
        latency: Milliseconds by query and stage.
        times: Milliseconds of whole searches, timed interleaved with the other variants on the
            same queries.
        degraded: The number of degraded queries by reason.

    """

    run: str
    scores: Mapping[str, Mapping[str, float]]
    hits: Mapping[str, tuple[str, ...]]
    latency: Mapping[str, Mapping[str, float]]
    times: Sequence[float]
    degraded: Mapping[str, int]

    @classmethod
    def of(
        cls,
        run: StoredRun,
        scores: Mapping[str, Mapping[str, float]],
        times: Sequence[float] = (),
    ) -> "RunScores":
        """Return the data of `run`, whose `scores` have been computed."""
        return cls(
            run=run.manifest.id,
            scores=scores,
            hits={
                query: tuple(hit.chunk.id for hit in ranking.hits)
                for query, ranking in run.rankings.items()
            },
            latency={sample.query_id: sample.milliseconds for sample in run.latency},
            times=times,
            degraded=run.manifest.degraded,
        )


@dataclass(frozen=True, slots=True)
class VariantRow:
    """The row of a variant before its differences are judged, and the contrasts to judge."""

    row: Row
    contrasts: tuple[Contrast, ...] = ()


def weigh(
    variant: Variant,
    parts: Sequence[PipelinePart],
    pair: tuple[RunScores, RunScores],
    measures: Sequence[str],
) -> VariantRow:
    """Return the row of a variant from `pair`: the run without the part, and the run with it."""
    without, with_ = pair
    queries = list(with_.hits)
    row = replace(
        describe(variant),
        run=without.run,
        queries=len(queries),
        changed=sum(with_.hits[id_] != without.hits[id_] for id_ in queries),
        changed_top=sum(with_.hits[id_][:TOP] != without.hits[id_][:TOP] for id_ in queries),
        tokens=_mean(with_, TOKENS) - _mean(without, TOKENS),
        own=time_part(variant.part, parts, with_.latency),
        total=_compare_totals(without, with_),
    )
    contrasts = (Contrast(name, "", without.scores[name], with_.scores[name]) for name in measures)
    return VariantRow(row, tuple(contrasts))


def describe(variant: Variant, failure: str = "") -> Row:
    """Return the row of a variant without figures."""
    return Row(
        part=variant.part.name,
        kind=variant.part.steps,
        along=tuple(part.name for part in variant.along),
        refusal=variant.refusal,
        failure=failure,
    )


def judge(weighed: Sequence[VariantRow], claims: Claims) -> Iterator[Row]:
    """Yield the rows with their differences, all of them judged as one family, by both claims."""
    contrasts = [contrast for item in weighed for contrast in item.contrasts]
    judged = iter(judge_claims(contrasts, claims))
    for item in weighed:
        own = list(islice(judged, len(item.contrasts)))
        found = tuple(each.leading for each in own)
        yield replace(item.row, differences=found, beside=_tell_opposite(own, claims))


def _tell_opposite(own: Sequence[Claimed], claims: Claims) -> str:
    """Name in a clause the measures that the other claim judges differently; "" for none."""
    kinds = (
        ("not shown", [one.leading for one in own if one.leading.shown > one.opposite.shown]),
        ("shown", [one.opposite for one in own if one.opposite.shown > one.leading.shown]),
    )
    told = [
        f"{', '.join(f'{item.measure} {item.difference.value:+.3f}' for item in items)} {word}"
        for word, items in kinds
        if items
    ]
    return f"{claims.name(claims.other)}: {'; '.join(told)}" if told else ""


def time_part(
    part: PipelinePart, parts: Sequence[PipelinePart], latency: Mapping[str, Mapping[str, float]]
) -> Times | None:
    """Return the time of a part by the traces, including a leg's encoding of the query.

    None if nothing was timed, or if another part has the same name in the traces.
    """
    if sum(other.name == part.name for other in parts) > 1 or not latency:
        return None
    within = f"{part.name}."
    taken = [
        sum(value for name, value in steps.items() if name == part.name or name.startswith(within))
        for steps in latency.values()
    ]
    return Times(float(np.percentile(taken, 50)), float(np.percentile(taken, 95)), len(taken))


def _compare_totals(without: RunScores, with_: RunScores) -> OpenEstimate | None:
    if not with_.times or not without.times:
        return None
    pairs = zip(without.times, with_.times, strict=True)
    return estimate_percentile([after - before for before, after in pairs], 50)


def _mean(observed: RunScores, measure: str) -> float:
    return float(np.mean(list(observed.scores[measure].values())))
