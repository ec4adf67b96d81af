"""The runs of a comparison of all pairs in their order, as a page shows them."""

from dataclasses import dataclass

from assay.eval.report.formats import Figure, figure, interval, p_value, score, signed
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.page.differences import TONES
from assay.eval.studies.comparison.pair import Pair


@dataclass(frozen=True)
class MatrixCell:
    """By how much the run of a column is better than that of a row; empty for a run itself."""

    difference: str = ""
    tone: str = ""
    words: str = ""


@dataclass(frozen=True)
class RankedRun:
    """A run with its mean of the headline measure, and beside every other one.

    `groups` are letters; runs that share one are not shown to differ.
    """

    rank: int
    label: str
    groups: str
    mean: Figure
    cells: tuple[MatrixCell, ...]


def rank_runs(compared: Comparison) -> tuple[RankedRun, ...]:
    """Return a row for each run, the best first, with its difference from each of all runs."""
    measure = compared.pairs[0].headline.measure
    cells = {}
    for (base, other), pair in zip(compared.names, compared.pairs, strict=True):
        cells[base, other] = _cell(pair, base, other, 1)
        cells[other, base] = _cell(pair, base, other, -1)
    return tuple(
        RankedRun(
            rank=rank,
            label=label,
            groups=groups,
            mean=figure(summary.means[measure], score),
            cells=tuple(cells.get((label, other), MatrixCell()) for other in compared.labels),
        )
        for rank, (label, groups, summary) in enumerate(
            zip(compared.labels, compared.groups, compared.summaries, strict=True), start=1
        )
    )


def _cell(pair: Pair, base: str, other: str, sign: int) -> MatrixCell:
    """Return a cell of the row of the base, with -1 of that of the other."""
    item = pair.headline
    ends = interval(item.interval, signed, " to ")
    mirrored = {"better": "worse", "worse": "better"} if sign < 0 else {}
    return MatrixCell(
        signed(sign * item.difference.value),
        TONES[mirrored.get(item.verdict, item.verdict)],
        f"{other} against {base}: {signed(item.difference.value)} ({ends}), "
        f"p {p_value(item.reported_p)}, {item.verdict}",
    )
