"""The report of a comparison: `comparison.json` for programs, its differences as CSV, and pages."""

from dataclasses import replace
from pathlib import Path

from assay.eval.report.page import dump, render_page
from assay.eval.report.renderers import markdown
from assay.eval.report.renderers.page import show_table
from assay.eval.runs.files import MARKDOWN, PAGE, encode_json
from assay.eval.studies.comparison.comparison import COMPARISON, FIRST, TABLE, Comparison
from assay.eval.studies.comparison.first_hits import render_first_hits
from assay.eval.studies.comparison.frame import render_differences
from assay.eval.studies.comparison.page.blocks import list_details, tabulate_contrasts
from assay.eval.studies.comparison.page.differences import STYLES
from assay.eval.studies.comparison.page.view import make_view
from assay.eval.studies.comparison.report import report
from assay.retrievers.store.files import write_atomically

__all__ = ["COMPARISON", "write"]

SCRIPTS = (
    "report/templates/shared.js",
    "studies/comparison/templates/comparison_scatter.js",
    "studies/comparison/templates/comparison_panel.js",
    "studies/comparison/templates/comparison_grid.js",
    "studies/comparison/templates/comparison.js",
)


def write(compared: Comparison, reports: Path) -> Path:
    """Write the files into a folder of their own below `reports`; return the page's path.

    The same comparison gives the same files in the same folder.
    """
    folder = reports / compared.id
    view = make_view(compared)
    tables = tabulate_contrasts(view)
    told = report(compared)
    told = replace(told, blocks=[*told.blocks, *list_details(view)])
    page = render_page(
        "studies/comparison/templates/comparison.html.j2",
        scripts=SCRIPTS,
        styles=STYLES,
        view=view,
        tables={key: show_table(table) for key, table in tables.items()},
        data=dump(view.details),
    )
    write_atomically(folder / COMPARISON, encode_json(compared.as_json()))
    write_atomically(folder / TABLE, render_differences(compared).encode())
    write_atomically(folder / FIRST, render_first_hits(compared).encode())
    write_atomically(folder / MARKDOWN, markdown.render(told).encode())
    write_atomically(folder / PAGE, page.encode())
    return folder / PAGE
