"""`report.html` for people and browsers, `report.md` for pull requests."""

from pathlib import Path
from typing import Any

from assay.eval.report.page import dump
from assay.eval.report.renderers import markdown
from assay.eval.report.renderers import page as block_page
from assay.eval.report.run_page.drilldown import collect
from assay.eval.report.run_page.queries import (
    bars,
    listed,
    primary,
    query_rows,
    slowest,
    worst,
)
from assay.eval.report.run_page.report import report
from assay.eval.runs.files import MARKDOWN, PAGE
from assay.eval.runs.summary.summary import Summary
from assay.retrievers.store.files import write_atomically

TEMPLATE = "report/run_page/templates/run.html.j2"
SCRIPTS = ("report/templates/shared.js", "report/run_page/templates/report.js")


def write(summary: Summary) -> Path:
    """Write `report.md` and `report.html` into the run's folder; return the path of the latter."""
    told, folder = report(summary), summary.run.folder
    write_atomically(folder / MARKDOWN, markdown.render(told).encode())
    shown = block_page.render(told, TEMPLATE, SCRIPTS, **list_queries(summary))
    path = folder / PAGE
    write_atomically(path, shown.encode())
    return path


def list_queries(summary: Summary) -> dict[str, Any]:
    """Return the data of single queries on the page: a table, and what each query retrieved.

    Its data are escaped as JSON; the script only ever sets text.
    """
    rows = query_rows(summary)
    notable = [*worst(rows), *slowest(rows)]
    shown = listed(rows, notable)
    return {
        "queries": shown,
        "searched": len(rows),
        "measures": [name for name, _ in shown[0].scores] if shown else [],
        "types": sorted({row.type for row in rows} - {""}),
        "found_at": bars(rows, summary.run.manifest.depth),
        "primary": primary(summary),
        "data": dump(collect(summary, rows, notable)),
    }
