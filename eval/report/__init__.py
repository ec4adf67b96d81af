"""The report of a run: `report.html` for people and browsers, `report.md` for pull requests."""

from pathlib import Path

from assay.eval.analysis.run_list import PAGE
from assay.eval.analysis.summary import Summary
from assay.eval.report import markdown, page
from assay.eval.report.view import make_view
from assay.retrievers.store.files import write_atomically

__all__ = ["MARKDOWN", "PAGE", "write"]

MARKDOWN = "report.md"


def write(summary: Summary) -> Path:
    """Write `report.md` and `report.html` into the run's folder; return the path of the latter."""
    view = make_view(summary)
    folder = summary.run.folder
    write_atomically(folder / MARKDOWN, markdown.render(view).encode())
    path = folder / PAGE
    write_atomically(path, page.render(view).encode())
    return path
