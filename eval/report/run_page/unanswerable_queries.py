"""Queries that nothing answers, as the report shows them."""

from dataclasses import dataclass

from assay.eval.report import formats
from assay.eval.report.formats import Figure, figure
from assay.eval.report.plots import LinearAxis, Whisker, whisker
from assay.eval.runs.summary.unanswerable_queries import Abstention, Signal


@dataclass(frozen=True)
class ShareRow:
    """The share of one kind of query for which nothing is returned."""

    words: str
    n: int
    figure: Figure
    whisker: Whisker


@dataclass(frozen=True)
class SignalRow:
    """How often a score is higher for an answered query than for one that nothing answers."""

    words: str
    figure: Figure
    whisker: Whisker
    best: bool


@dataclass(frozen=True)
class RocPlot:
    """The curve of the best signal, a path in a box of 100 by 100, and where the run is.

    From the left the share of answered queries, from the bottom that of unanswered ones, for which
    nothing is returned; `across` and `down` are the run's, `down` from the top.
    """

    path: str
    across: float
    down: float
    title: str
    summary: str


@dataclass(frozen=True)
class AnsweringView:
    """The section of a run whose collection has queries that nothing answers.

    There are no signals, and no plot, where there are no others.
    """

    shares: tuple[ShareRow, ...]
    signals: tuple[SignalRow, ...]
    plot: RocPlot | None


def view_answering(found: Abstention | None) -> AnsweringView | None:
    """Return the section; None where every query has an answer."""
    if found is None:
        return None
    axis = LinearAxis()
    return AnsweringView(
        shares=tuple(
            ShareRow(words, share.n, figure(share, formats.score), whisker(share, axis))
            for words, share in found.rows
        ),
        signals=tuple(
            SignalRow(
                words=signal.words,
                figure=figure(signal.auc, formats.score),
                whisker=whisker(signal.auc, axis),
                best=signal is found.best,
            )
            for signal in found.signals
        ),
        plot=_plot(found, found.best) if found.best else None,
    )


def _plot(found: Abstention, signal: Signal) -> RocPlot:
    assert found.falsely_empty is not None
    points = [(100 * i.positives_below, 100 - 100 * i.negatives_below) for i in signal.curve]
    across, up = found.falsely_empty.value, found.rightly_empty.value
    title = (
        f"this run: nothing for {formats.percent(across)} of the answered, "
        f"{formats.percent(up)} of the unanswered"
    )
    return RocPlot(
        path=f"M{'L'.join(f'{left:.4g} {top:.4g}' for left, top in points)}",
        across=100 * across,
        down=100 - 100 * up,
        title=title,
        summary=f"ROC curve of {signal.words}, area {signal.auc.value:.3f}; {title}",
    )
