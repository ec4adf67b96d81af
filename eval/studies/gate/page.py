"""The report of the gate: `gate.json`, `report.md` and `report.html`, which shows the same."""

import re
from pathlib import Path

from assay.eval.report.page import render_page
from assay.eval.runs.files import encode_json
from assay.eval.studies.gate.output import render_json, render_markdown
from assay.eval.studies.gate.report import GateReport
from assay.eval.studies.gate.sentences import announce, entitle
from assay.retrievers.store.digest import digest
from assay.retrievers.store.files import write_atomically


def write(report: GateReport, reports: Path) -> Path:
    """Write the report into a folder of its own in `reports`; return the path of its page.

    The same run judged against the same baseline has the same folder.
    """
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    head = report.head.manifest
    folder = reports / f"gate-{head.id}-{digest(report.baseline.run)[:8]}"
    text = render_markdown(report)
    write_atomically(folder / "gate.json", encode_json(render_json(report)))
    write_atomically(folder / "report.md", text.encode())
    # Of HTML the text has small print alone; the parser lets no other through.
    shown = MarkdownIt("commonmark").enable("table").render(re.sub("</?sub>", "", text))
    page = folder / "report.html"
    html = render_page(
        "studies/gate/templates/gate.html.j2",
        title=report.baseline.label,
        verdict=entitle(report),
        lede=announce(report),
        created=head.created[:16].replace("T", " "),
        shown=Markup(shown),
    )
    write_atomically(page, html.encode())
    return page
