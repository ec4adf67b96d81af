"""How a measure of a pipeline developed over the commits of a repository."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from assay.eval.report.plots import LinearAxis
from assay.eval.report.run_page.page import PAGE
from assay.eval.studies.run.run_list import RunRow

SHORT = 8  # characters of a commit
MARGIN = 0.15  # of the range of a trend, left free above and below
FLATTEST = 0.02  # the smallest range that fills a trend's height


@dataclass(frozen=True, slots=True)
class Moment:
    """The last run of a commit: where it stands in the plot, in percent, and its mean."""

    at: float
    height: float
    mean: float
    label: str
    href: str


@dataclass(frozen=True, slots=True)
class Trend:
    """A mean of one config on one collection, commit by commit, the oldest first."""

    config: str
    collection: str
    low: float
    high: float
    moments: tuple[Moment, ...]

    @property
    def line(self) -> str:
        """The points of the line, in a box of 100 by 100."""
        return " ".join(f"{moment.at:g},{moment.height:g}" for moment in self.moments)


def list_trends(rows: Sequence[RunRow], measure: str) -> list[Trend]:
    """Return the trends of whole runs, of configs that ran on one collection at several commits."""
    whole = [row for row in rows if measure in row.means and not row.sampled]
    places: dict[str, set[str]] = {}
    for row in whole:
        places.setdefault(row.collection, set()).add(row.place)

    def label(row: RunRow) -> tuple[str, str]:
        several = row.place and len(places[row.collection]) > 1
        return row.config, f"{row.collection} in {row.place}" if several else row.collection

    ordered = sorted(whole, key=lambda row: (*label(row), row.created))
    trends = []
    for (config, collection), group in groupby(ordered, label):
        last = {row.commit: row for row in group if row.commit}
        found = sorted(last.values(), key=lambda row: row.created)
        if len(found) > 1:
            trends.append(_draw(config, collection, measure, found))
    return trends


def _draw(config: str, collection: str, measure: str, rows: Sequence[RunRow]) -> Trend:
    means = [row.means[measure] for row in rows]
    low, high = min(means), max(means)
    middle, half = (low + high) / 2, max(high - low, FLATTEST) * (0.5 + MARGIN)
    axis = LinearAxis(middle - half, middle + half)
    moments = tuple(
        Moment(
            at=round(100 * number / (len(rows) - 1), 2),
            height=round(100 - axis.place(mean), 2),
            mean=mean,
            label=f"{row.commit[:SHORT]}, {row.created[:10]}",
            href=f"{row.id}/{PAGE}" if row.page else "",
        )
        for number, (row, mean) in enumerate(zip(rows, means, strict=True))
    )
    return Trend(config, collection, low, high, moments)
