"""Differences on a page: in words, in a row of a table, and as a whisker."""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.eval.report.formats import amount, p_value, score, signed
from assay.eval.report.plots import LinearAxis, Tick, Whisker, whisker
from assay.eval.statistics.significance import POWER, detectable
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.differences import FORETOLD, SCATTER, Difference
from assay.eval.studies.comparison.pair import Pair

STYLES = ("studies/comparison/templates/comparison.css",)
# The class of the style sheet for each verdict.
TONES = {
    "better": "better",
    "worse": "worse",
    "no difference shown": "same",
    "not shown (too few queries)": "open",
    "not tested": "open",
}
ALSO = {
    "better": "Better, too",
    "worse": "Worse",
    "no difference shown": "No difference shown",
    "not shown (too few queries)": "Not shown (too few queries)",
    "not tested": "Not tested (the headline measure shows no difference)",
}


@dataclass(frozen=True)
class DifferenceRow:
    """A row for a difference.

    `whisker` is its interval; `band` is from minus to plus the smallest detectable difference, on
    the same axis. Both are None for a measure that is not a share of 1.
    """

    name: str
    n: int
    base: str
    other: str
    detectable: str
    difference: str
    interval: str
    p: str
    effect_size: str
    counts: tuple[int, int, int]
    verdict: str
    tone: str
    whisker: Whisker | None
    band: Whisker | None


@dataclass(frozen=True)
class DifferenceAxis:
    """The axis that the differences of a page share."""

    axis: LinearAxis
    ticks: tuple[Tick, ...]


def make_axis(differences: Iterable[Difference]) -> DifferenceAxis:
    """Return the axis with zero in its middle that holds the intervals of all `differences`."""
    ends = [
        end
        for item in differences
        if _is_share(item)
        for end in (item.interval.low, item.interval.high)
    ]
    axis = LinearAxis.around_zero(ends)
    labels = (axis.low, 0.0, axis.high)
    return DifferenceAxis(axis, tuple(Tick(axis.place(i), _tick(i)) for i in labels))


def difference_row(item: Difference, axis: LinearAxis) -> DifferenceRow:
    """Return a difference as a row, named by its type of query or else by its measure."""
    drawn = _is_share(item)
    shown = item.detectable
    band = Whisker(50, axis.place(-shown), axis.place(shown)) if drawn and shown else None
    return DifferenceRow(
        name=item.type or item.measure,
        n=item.n,
        base=score(item.base),
        other=score(item.other),
        detectable="–" if shown is None else score(shown),
        difference=signed(item.difference.value),
        interval=_interval(item, "…"),
        p=p_value(item.reported_p),
        effect_size="–" if item.effect_size is None else _effect_size(item.effect_size),
        counts=(item.wins, item.ties, item.losses),
        verdict=item.verdict,
        tone=TONES[item.verdict],
        whisker=whisker(item.interval, axis) if drawn else None,
        band=band,
    )


def elaborate(pair: Pair) -> str:
    """Return sentences on single queries, the other measures and latency."""
    item = pair.headline
    sentences = [f"{item.wins:,} of {item.n:,} queries gain, {item.losses:,} lose."]
    for verdict, words in ALSO.items():
        others = (other for other in pair.differences if other is not item)
        names = [other.measure for other in others if other.verdict == verdict]
        if names:
            sentences.append(f"{words}: {', '.join(names)}.")
    if pair.unshown:
        unshown = ", ".join(pair.unshown)
        sentences.append(f"Without the other runs of this page {unshown} would be shown to differ.")
    for latency in pair.latency[:1]:
        if latency.ratio:
            sentences.append(
                f"Half of the queries take at most {amount(latency.other)} ms, with the base "
                f"{amount(latency.base)} ms, timed interleaved."
            )
    return " ".join(sentences)


def foresee(pair: Pair, compared: Comparison) -> str:
    """Return a sentence on the detectable difference of the headline; "" if it is unknown."""
    item = pair.headline
    if item.detectable is None:
        return ""
    together = f", tested together with the other {'pairs' if compared.all_pairs else 'runs'}"
    if item.detectable_alone is not None:
        together += f", and one of {score(item.detectable_alone)} by itself"
    assumed = ""
    if item.measure == FORETOLD and item.deviation is not None:
        assumed = (
            f" Before there are scores, {detectable(SCATTER, item.n):.2f} is assumed: that of "
            f"differences with a standard deviation of {SCATTER}; these have {item.deviation:.2f}."
        )
    return (
        f"With {item.n:,} queries whose scores differ as these do, a true difference of "
        f"{score(item.detectable)} in {item.measure} is shown with probability {POWER}"
        f"{together if len(compared.pairs) > 1 else ''}.{assumed}"
    )


def _interval(item: Difference, between: str) -> str:
    return f"{signed(item.interval.low)} {between} {signed(item.interval.high)}"


def _effect_size(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.2f}"


def _tick(value: float) -> str:
    return f"{'−' if value < 0 else '+' if value else ''}{abs(value):g}"


def _is_share(item: Difference) -> bool:
    """Return True if a measure is on the scale from 0 to 1, by its means and its interval."""
    means = 0 <= item.base <= 1 and 0 <= item.other <= 1
    return means and item.difference.low >= -1 and item.difference.high <= 1
