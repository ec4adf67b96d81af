"""The page `index.html` of a folder of reports, with a link to the page of each report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from assay.eval.report.page import render_page
from assay.eval.runs.manifest import MANIFEST, CollectionFacts
from assay.eval.runs.stored import load
from assay.eval.scoring.measures import choose_headline
from assay.eval.studies.comparison.differences import FORETOLD, foresee
from assay.eval.studies.run.findings import RunVerdict, judge_runs, list_findings
from assay.eval.studies.run.overview_state import INDEX, find_state, is_ours
from assay.eval.studies.run.run_list import RunRow, list_runs
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.store.files import write_atomically

SHORT = 8  # characters of a commit


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A collection as of its newest run, with the number of its runs.

    `detectable` is the smallest difference in `FORETOLD` that its queries are expected to show;
    None if they can show none.
    """

    name: str
    facts: CollectionFacts
    runs: int
    newest: RunRow
    detectable: float | None


def write_pages(rows: Sequence[RunRow], progress: Progress) -> None:
    """Write the missing pages of runs, for example of those made for a comparison.

    Reports each run for which no page can be made.
    """
    from assay.eval.running.run import write_report

    bare = [row for row in rows if row.page is None]
    for row in progress.track(bare, "writing pages", len(bare)):
        try:
            write_report(load(row.folder))
        except AssayError as error:
            progress.say(f"{row.id}: no page can be made: {error}")


def write_overview(reports: Path) -> Path:
    """Write the page of all reports in `reports`; return its path.

    Figures are read from the files of reports, not computed. Raises AssayError if a page of another
    program has the same path.
    """
    page = reports / INDEX
    if not is_ours(page):
        raise AssayError(f"{page}: was not made by assay; move it, for the page of all reports")
    state = find_state(reports)
    rows = list_runs(reports, scored=False)
    findings = list_findings(reports)
    by_kind = {kind: list(group) for kind, group in groupby(findings, lambda item: item.kind)}
    html = render_page(
        "studies/run/templates/overview.html.j2",
        ("studies/run/templates/overview.js",),
        **_describe(rows, judge_runs(findings)),
        findings=by_kind,
        unread=_list_unread(rows, reports),
        state=state,
    )
    write_atomically(page, html.encode())
    return page


def list_collections(rows: Sequence[RunRow]) -> list[CollectionRow]:
    """Return the collections of runs, sorted by name; `rows` must have the newest first."""
    found: dict[tuple[str, str], list[RunRow]] = {}
    for row in rows:
        found.setdefault((row.collection, row.place), []).append(row)
    names = [name for name, _ in found]
    return [
        CollectionRow(
            name=f"{name} in {place}" if place and names.count(name) > 1 else name,
            facts=facts,
            runs=len(group),
            newest=group[0],
            detectable=foresee(facts.queries),
        )
        for (name, place), group in sorted(found.items())
        if (facts := group[0].facts) is not None
    ]


def _describe(
    rows: Sequence[RunRow], verdicts: Mapping[str, Sequence[RunVerdict]]
) -> dict[str, Any]:
    there = list(dict.fromkeys(name for row in rows for name in row.means))
    headline = choose_headline(there) if there else ""
    return {
        "rows": rows,
        "headlines": {row.id: choose_headline(row.means) for row in rows if row.means},
        "headline": headline,
        "verdicts": verdicts,
        "collections": list_collections(rows),
        "foretold": FORETOLD,
        "short": SHORT,
    }


def _list_unread(rows: Sequence[RunRow], reports: Path) -> list[str]:
    """Return the ids of runs that this version cannot read."""
    known = {row.id for row in rows}
    folders = sorted(path.parent.name for path in reports.glob(f"*/{MANIFEST}"))
    return [name for name in folders if name not in known]
