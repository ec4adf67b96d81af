"""`report.html` for people and browsers, `report.md` for pull requests."""

from pathlib import Path

from assay.eval.report.markdown import render_markdown
from assay.eval.report.page import dump, render_page
from assay.eval.report.run_page.view import View, make_view
from assay.eval.runs.summary.summary import Summary
from assay.retrievers.store.files import write_atomically

MARKDOWN, PAGE = "report.md", "report.html"


def write(summary: Summary) -> Path:
    """Write `report.md` and `report.html` into the run's folder; return the path of the latter."""
    view = make_view(summary)
    folder = summary.run.folder
    markdown = render_markdown("report/run_page/templates/run.md.j2", view=view)
    write_atomically(folder / MARKDOWN, markdown.encode())
    path = folder / PAGE
    write_atomically(path, render(view).encode())
    return path


def render(view: View) -> str:
    """Return the page of a run. Its data are escaped as JSON; the script only ever sets text."""
    return render_page(
        "report/run_page/templates/run.html.j2",
        ("report/templates/shared.js", "report/run_page/templates/report.js"),
        view=view,
        data=dump(view.details),
    )
