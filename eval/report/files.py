"""The files of a report: its facts as JSON, its Markdown and its page."""

from pathlib import Path

from assay.eval.report.blocks import Report
from assay.eval.report.renderers import markdown as block_markdown
from assay.eval.report.renderers import page as block_page
from assay.eval.runs.files import encode_json
from assay.eval.runs.json_form import to_json
from assay.retrievers.store.files import write_atomically

# The suffixes of the files of a result.
BESIDE = (".json", ".html", ".md")
BRIEF = "brief.html"  # a second page of a report, in half a page
SUMMARY = "summary.json"  # the facts of a report in lists of reports


def write_blocks(found: object, report: Report, folder: Path) -> Path:
    """Write `<kind>.json`, `report.md` and `report.html` into `folder`, which is created.

    The verdict for lists of reports is written there too. Return the path of the page.
    """
    pages = (folder / "report.html", folder / "report.md")
    _write(found, report, folder / f"{report.kind}.json", *pages)
    told = {"kind": report.kind, "title": report.title, "verdict": list(report.verdict)}
    write_atomically(folder / SUMMARY, encode_json(told))
    return pages[0]


def write_beside(found: object, report: Report, path: Path) -> list[Path]:
    """Write the JSON, the page and the Markdown to `path` with the suffix of each.

    Return their paths, in the order of `BESIDE`.
    """
    facts, page, text = (path.with_suffix(suffix) for suffix in BESIDE)
    _write(found, report, facts, page, text)
    return [facts, page, text]


def _write(found: object, report: Report, facts: Path, page: Path, text: Path) -> None:
    write_atomically(facts, encode_json(to_json(found)))
    write_pages(report, page, text)


def write_pages(report: Report, page: Path, text: Path) -> None:
    """Write a report as a page and as Markdown."""
    write_atomically(text, block_markdown.render(report).encode())
    write_atomically(page, block_page.render(report).encode())
