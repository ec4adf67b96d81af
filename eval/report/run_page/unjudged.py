"""What unjudged results leave open, as the report shows it."""

from dataclasses import dataclass

from assay.eval.report import formats
from assay.eval.report.formats import Figure, figure
from assay.eval.report.plots import LinearAxis, Whisker, whisker
from assay.eval.runs.summary.summary import Summary
from assay.eval.runs.summary.unjudged import UnjudgedBounds
from assay.eval.statistics.estimates import Estimate


@dataclass(frozen=True)
class UnjudgedRow:
    """One measure. `bounds` is "" where none are known; the interval beside them spans those of
    both. `whisker` has its dot at the score and its ends at the bounds.
    """

    name: str
    scored: Figure
    judged: Figure
    condensed: Figure
    bounds: str
    interval: str
    whisker: Whisker | None


@dataclass(frozen=True)
class UnjudgedView:
    """The rows of all measures, and how to read them."""

    rows: tuple[UnjudgedRow, ...]
    explanation: str


def show_unjudged(summary: Summary) -> UnjudgedView:
    """Return the section of a run; it has no rows where no measure can be open."""
    return UnjudgedView(tuple(map(_row, summary.unjudged)), _explain(summary))


def _row(item: UnjudgedBounds) -> UnjudgedRow:
    bounds = interval = ""
    drawn = None
    if item.lower and item.upper:
        bounds = f"{formats.score(item.lower.value)} – {formats.score(item.upper.value)}"
        interval = f"{formats.score(item.lower.low)} – {formats.score(item.upper.high)}"
        ends = Estimate(item.scored.value, item.lower.value, item.upper.value, item.scored.n)
        drawn = whisker(ends, LinearAxis())
    return UnjudgedRow(
        name=item.measure,
        scored=figure(item.scored, formats.score),
        judged=figure(item.judged, formats.score),
        condensed=figure(item.condensed, formats.score),
        bounds=bounds,
        interval=interval,
        whisker=drawn,
    )


def _explain(summary: Summary) -> str:
    run = summary.run
    grades = [item.grade for items in run.gold.values() for item in items]
    refused = sum(grade <= 0 for grade in grades)
    return (
        "A passage that no one has judged counts as not relevant. “Judged” is the share judged of "
        "the passages a measure looks at; “condensed” is the score once the unjudged have been "
        "taken out of the ranking; the bounds are the lowest and the highest score that judging "
        "them could give. Runs whose bounds overlap may change places once they are judged. "
        "Condensed scores flatter where little was judged not relevant (here "
        f"{refused:,} of {formats.count(len(grades), 'judgment')}). Relevant passages that no one "
        "judged and the run did not return count nowhere."
    )
