"""The ranked runs of a comparison of all pairs, as rows of a page."""

from dataclasses import dataclass

from assay.eval.report.formats import Figure, figure, interval, p_value, score, signed
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.page.differences import TONES
from assay.eval.studies.comparison.pair import Pair


@dataclass(frozen=True)
class MatrixCell:
    """The difference of the run of a column from that of a row; empty for the same run."""

    difference: str = ""
    tone: str = ""
    words: str = ""


@dataclass(frozen=True)
class RankedRun:
    """A row for a run: its mean of the headline measure, and its difference from every other run.

    `groups` are letters; runs that share one are not shown to differ.
    """

    rank: int
    label: str
    groups: str
    mean: Figure
    cells: tuple[MatrixCell, ...]


def rank_runs(compared: Comparison) -> tuple[RankedRun, ...]:
    """Return a row for each run, best first, with its difference from each run."""
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
    """Return a cell for the row of the base, or with `sign` -1 for the row of the other run."""
    item = pair.headline
    ends = interval(item.interval, signed, " to ")
    mirrored = {"better": "worse", "worse": "better"} if sign < 0 else {}
    return MatrixCell(
        signed(sign * item.difference.value),
        TONES[mirrored.get(item.verdict, item.verdict)],
        f"{other} against {base}: {signed(item.difference.value)} ({ends}), "
        f"p {p_value(item.reported_p)}, {item.verdict}",
    )
