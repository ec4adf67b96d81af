"""The files of a report: its facts as JSON, and the pages that templates make of them."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from assay.eval.report.blocks import Report
from assay.eval.report.markdown import render_markdown
from assay.eval.report.page import render_page
from assay.eval.report.provenance import describe_environment
from assay.eval.report.renderers import markdown as block_markdown
from assay.eval.report.renderers import page as block_page
from assay.eval.runs.files import encode_json
from assay.retrievers.store.files import write_atomically

# The suffixes of what is written beside a result.
BESIDE = (".json", ".html", ".md")
SUMMARY = "summary.json"  # what lists of reports show of one


class ReportData(Protocol):
    """What was found, by whatever command."""

    @property
    def id(self) -> str: ...  # noqa: D102

    @property
    def environment(self) -> Mapping[str, Any]: ...  # noqa: D102

    def as_json(self) -> dict[str, Any]: ...  # noqa: D102


def write_blocks(found: ReportData, report: Report, folder: Path) -> Path:
    """Write `<kind>.json`, `report.md` and `report.html` into `folder`, which is made here.

    And beside them the verdict for lists of reports. Return the path of the page.
    """
    pages = (folder / "report.html", folder / "report.md")
    _write(found, report, folder / f"{report.kind}.json", *pages)
    told = {"kind": report.kind, "title": report.title, "verdict": list(report.verdict)}
    write_atomically(folder / SUMMARY, encode_json(told))
    return pages[0]


def write_beside(found: ReportData, report: Report, path: Path) -> list[Path]:
    """Write the JSON, the page and the Markdown by the name of `path`, each with its own suffix.

    Return their paths, in the order of `BESIDE`.
    """
    facts, page, text = (path.with_suffix(suffix) for suffix in BESIDE)
    _write(found, report, facts, page, text)
    return [facts, page, text]


def _write(found: ReportData, report: Report, facts: Path, page: Path, text: Path) -> None:
    write_atomically(facts, encode_json(found.as_json()))
    write_atomically(text, block_markdown.render(report).encode())
    write_atomically(page, block_page.render(report).encode())


def write_report(
    templates: str,
    found: ReportData,
    folder: Path,
    values: Mapping[str, Any],
    *,
    markdown: bool = True,
    styles: Sequence[str] = (),
) -> Path:
    """Write `<kind>.json`, `report.html` and with `markdown` `report.md` into `folder`, made here.

    `templates` is the path of the templates without their endings, as in
    "studies/sweep/templates/sweep"; its last part is the kind. Beside `values` they are given
    `environment` and `command`. Return the path of the page.
    """
    kind = templates.rpartition("/")[2]
    values = {
        "environment": ((kind.capitalize(), found.id), *describe_environment(found.environment)),
        "command": shlex.join(map(str, found.environment.get("command", ()))),
        **values,
    }
    write_atomically(folder / f"{kind}.json", encode_json(found.as_json()))
    if markdown:
        text = render_markdown(f"{templates}.md.j2", **values)
        write_atomically(folder / "report.md", text.encode())
    page = folder / "report.html"
    html = render_page(f"{templates}.html.j2", styles=styles, **values)
    write_atomically(page, html.encode())
    return page
