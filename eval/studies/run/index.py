"""`index.html`: the stored runs of a folder, with links to their pages, and how they developed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from assay.eval.report.page import render_page
from assay.eval.report.plots import LinearAxis
from assay.eval.report.run_page.page import PAGE
from assay.eval.running.run import write_report
from assay.eval.runs.manifest import MANIFEST
from assay.eval.runs.stored import load
from assay.eval.scoring.measures import choose_headline
from assay.eval.studies.run.run_list import RunRow, read_run
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.store.files import write_atomically

INDEX = "index.html"
SHOWN = ("nDCG@10", "MRR@10", "Recall@10", "Hit@10")
SHORT = 8  # characters of a commit
# What pages are of, by how their paths begin.
KINDS = {"compare-": "Comparisons", "gate-": "Gates", "chosen/": "Choices", "tuned/": "Tuning"}
OTHERS = "Other reports"
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


def write_pages(rows: Sequence[RunRow], progress: Progress) -> list[RunRow]:
    """Write the pages that runs lack, such as those made to be compared; return all rows.

    Say of which run no page can be made.
    """
    bare = [row for row in rows if row.page is None]
    made = {}
    for row in progress.track(bare, "writing pages", len(bare)):
        try:
            _, made[row.id] = write_report(load(row.folder))
        except AssayError as error:
            progress.say(f"{row.id}: no page can be made: {error}")
    return [replace(row, page=made.get(row.id, row.page)) for row in rows]


def write_index(rows: Sequence[RunRow], reports: Path, measure: str = "") -> Path:
    """Write the index of `rows`, all below `reports`; return its path.

    Trends are of `measure`, by default of what a run is called good or bad by. Raises AssayError
    where there are no runs, or none has the measure.
    """
    if not rows:
        raise AssayError(f"{reports}: no stored runs here; `assay run CONFIG` makes one")
    there = list(dict.fromkeys(name for row in rows for name in row.means))
    if measure and measure not in there:
        raise AssayError(f"--measure {measure}: no run has it; there are: {', '.join(there)}")
    measure = measure or (choose_headline(there) if there else "")
    shown = list(dict.fromkeys([*filter(None, [measure]), *(i for i in SHOWN if i in there)]))
    html = render_page(
        "studies/run/templates/index.html.j2",
        ("studies/run/templates/index.js",),
        rows=rows,
        measures=shown,
        headline=measure,
        trends=list_trends(rows, measure),
        others=list_pages(reports),
        unread=list_unread(rows, reports),
        short=SHORT,
    )
    write_atomically(reports / INDEX, html.encode())
    return reports / INDEX


def list_pages(reports: Path) -> dict[str, list[tuple[str, str]]]:
    """Return the pages of what is no run, by their kind: each its name and its path."""
    pages: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(reports.rglob("*.html")):
        place = path.relative_to(reports)
        if place.name == INDEX or (path.parent / MANIFEST).exists():
            continue
        name = place.as_posix().removesuffix(f"/{PAGE}").removesuffix(".html")
        kind = next((kind for begin, kind in KINDS.items() if name.startswith(begin)), OTHERS)
        pages.setdefault(kind, []).append((name, place.as_posix()))
    return {kind: pages[kind] for kind in (*KINDS.values(), OTHERS) if kind in pages}


def list_unread(rows: Sequence[RunRow], reports: Path) -> list[str]:
    """Return the ids of runs that this version cannot read."""
    known = {row.id for row in rows}
    folders = sorted(path.parent for path in reports.glob(f"*/{MANIFEST}"))
    return [path.name for path in folders if path.name not in known and read_run(path) is None]


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
