"""Miss analysis, as a report shows it: at which step correct passages were lost."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.eval.report import formats
from assay.eval.report.formats import Figure, figure, percent
from assay.eval.report.plots import LinearAxis, Whisker, whisker
from assay.eval.runs.summary.attribution import MEANINGS, Attribution
from assay.eval.runs.summary.candidate_lists import FINAL
from assay.eval.runs.summary.ceilings import UNION
from assay.eval.statistics.estimates import Estimate

NAMES = {UNION: "all legs together", FINAL: "final hits"}


@dataclass(frozen=True)
class Segment:
    """The items of one status in a stacked bar; `start` and `width` are in percent of the bar."""

    status: str
    style: str
    items: int
    share: str
    start: float
    width: float


@dataclass(frozen=True)
class StatusRow:
    """One status: its segment, what it means, and which stages or legs are involved."""

    segment: Segment
    meaning: str
    causes: str


@dataclass(frozen=True)
class TypeBar:
    """The statuses of the items of one type of query, in the order of `AttributionView.rows`."""

    type: str
    items: int
    label: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class CeilingRow:
    """What a perfect order of the candidates after a step would score; `reached`: what did."""

    step: str
    candidates: str
    figures: tuple[Figure, ...]
    whisker: Whisker
    reached: bool


@dataclass(frozen=True)
class AttributionView:
    """The miss analysis of all relevant gold items; only statuses that occur have rows."""

    k: int
    items: int
    label: str
    rows: tuple[StatusRow, ...]
    types: tuple[TypeBar, ...]
    measures: tuple[str, ...]
    ceilings: tuple[CeilingRow, ...]


def view_attribution(attribution: Attribution) -> AttributionView | None:
    """Return what is shown of an attribution; None where nothing is judged relevant."""
    totals = {status: number for status, number in attribution.totals().items() if number}
    if not totals:
        return None
    segments = stack(totals)
    return AttributionView(
        k=attribution.k,
        items=sum(totals.values()),
        label=_label(segments),
        rows=tuple(
            StatusRow(
                segment=segment,
                meaning=MEANINGS[segment.status].format(k=attribution.k),
                causes=_list_causes(attribution.causes(segment.status)),
            )
            for segment in segments
        ),
        types=tuple(
            TypeBar(kind, sum(counted.values()), _label(bar), bar)
            for kind, counted in attribution.by_type.items()
            if any(counted.values())
            and (bar := stack({status: counted[status] for status in totals}))
        ),
        measures=tuple(attribution.reached),
        ceilings=(
            *(
                _ceiling_row(
                    NAMES.get(item.step, item.step),
                    formats.amount(item.candidates),
                    item.measures,
                    reached=False,
                )
                for item in attribution.ceilings
            ),
            _ceiling_row("actual", "", attribution.reached, reached=True),
        ),
    )


def stack(totals: Mapping[str, int]) -> tuple[Segment, ...]:
    """Return the segments of a bar that stacks the items of each status."""
    whole = sum(totals.values())
    segments = []
    before = 0
    for status, items in totals.items():
        segments.append(
            Segment(
                status=status,
                style=name_style(status),
                items=items,
                share=percent(items / whole),
                start=round(100 * before / whole, 3),
                width=round(100 * items / whole, 3),
            )
        )
        before += items
    return tuple(segments)


def name_style(status: str) -> str:
    """Return the class by which the style sheet colours a status."""
    return f"status-{status.replace(' ', '-')}"


def _label(segments: tuple[Segment, ...]) -> str:
    return ", ".join(f"{item.status} {item.items:,}" for item in segments if item.items)


def _list_causes(causes: Mapping[str, int]) -> str:
    most = sorted(causes.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} {items:,}" for name, items in most)


def _ceiling_row(
    step: str, candidates: str, scores: Mapping[str, Estimate], reached: bool
) -> CeilingRow:
    return CeilingRow(
        step=step,
        candidates=candidates,
        figures=tuple(figure(estimate, formats.score) for estimate in scores.values()),
        whisker=whisker(next(iter(scores.values())), LinearAxis()),
        reached=reached,
    )
