"""The report of a run: `report.html` for people and browsers, `report.md` for pull requests."""

from pathlib import Path

from eval.report import markdown, page
from eval.report.view import make_view
from eval.runs import write_atomically
from eval.summary import Summary

__all__ = ["write"]


def write(summary: Summary) -> Path:
    """Write `report.md` and `report.html` into the run's folder; return the path of the latter."""
    view = make_view(summary)
    folder = summary.run.folder
    write_atomically(folder / "report.md", markdown.render(view).encode())
    path = folder / "report.html"
    write_atomically(path, page.render(view).encode())
    return path
