"""The report of a comparison: `comparison.json` for programs, its differences as CSV, and pages."""

import hashlib
import json
from pathlib import Path
from typing import Any

from assay.eval.report.markdown import render_markdown
from assay.eval.report.page import dump, render_page
from assay.eval.runs.files import encode_json
from assay.eval.runs.generated_answers import read
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.first_hits import render_first_hits
from assay.eval.studies.comparison.frame import ComparisonResult
from assay.eval.studies.comparison.page.differences import STYLES
from assay.eval.studies.comparison.page.view import make_view
from assay.retrievers.store.files import write_atomically

__all__ = ["COMPARISON", "name_comparison", "write"]

COMPARISON, TABLE, FIRST = "comparison.json", "differences.csv", "first_hits.csv"
SCRIPTS = (
    "report/templates/shared.js",
    "studies/comparison/templates/comparison_scatter.js",
    "studies/comparison/templates/comparison_panel.js",
    "studies/comparison/templates/comparison_grid.js",
    "studies/comparison/templates/comparison.js",
)
LONGEST = 120  # characters of the names in a folder's name


def write(compared: Comparison, reports: Path) -> Path:
    """Write the files into a folder of their own below `reports`; return the page's path.

    The same comparison gives the same files in the same folder.
    """
    folder = reports / name_comparison(compared)
    view = make_view(compared)
    markdown = render_markdown("studies/comparison/templates/comparison.md.j2", view=view)
    page = render_page(
        "studies/comparison/templates/comparison.html.j2",
        scripts=SCRIPTS,
        styles=STYLES,
        view=view,
        data=dump(view.details),
    )
    write_atomically(folder / COMPARISON, encode_json(compared.as_json()))
    write_atomically(folder / TABLE, ComparisonResult(compared).to_csv().encode())
    write_atomically(folder / FIRST, render_first_hits(compared).encode())
    write_atomically(folder / "report.md", markdown.encode())
    write_atomically(folder / "report.html", page.encode())
    return folder / "report.html"


def name_comparison(compared: Comparison) -> str:
    """Return the name of a comparison's folder: what was compared, and a digest of all it is of."""
    runs = compared.runs
    collection = compared.base.run.manifest.collection.name
    parts: list[Any] = [
        [run.manifest.id for run in runs],
        compared.measures,
        compared.beside,
        compared.effect,
    ]
    if compared.all_pairs:
        parts.append("all pairs")
    if compared.of_answers:
        parts.append([found.digest for run in runs if (found := read(run.folder))])
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]
    names = "-".join(run.manifest.name for run in runs)[:LONGEST]
    return f"compare-{names}-{collection.replace(':', '.').replace('/', '.')}-{digest}"
