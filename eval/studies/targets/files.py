"""The files of targets: their report, and the line of a README that has their totals."""

from pathlib import Path

from assay.eval.report.blocks import Report
from assay.eval.report.renderers import markdown, page
from assay.eval.runs.files import encode_json
from assay.eval.studies.targets.results import Results
from assay.retrievers.base import AssayError
from assay.retrievers.store.files import write_atomically

BEGIN = "<!-- targets:begin -->"
END = "<!-- targets:end -->"


def write_files(results: Results, told: Report, folder: Path) -> list[Path]:
    """Write `targets.md` and `targets.json` into `folder`, each in one piece; return their paths.

    Raises AssayError when they cannot be written.
    """
    contents = {
        "targets.md": markdown.render(told).encode(),
        "targets.json": encode_json(results.as_json()),
    }
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return [folder / name for name in contents]


def write_page(told: Report, folder: Path) -> Path:
    """Write `report.html` into `folder`; return its path. Raises AssayError when it cannot be."""
    path = folder / "report.html"
    write_atomically(path, page.render(told).encode())
    return path


def render_totals(results: Results) -> str:
    """Return the totals in a line of Markdown, with a link to what `--output docs` writes."""
    totals = ", ".join(f"{len(ids)} {verdict}" for verdict, ids in results.count().items() if ids)
    return f"{totals} ([each of them](docs/targets.md), as of {results.created[:10]}).\n"


def replace_totals(readme: Path, totals: str) -> str:
    """Return the text of a README with its totals of targets replaced by `totals`.

    Raises AssayError when it cannot be read, or the marks are not there once and in order.
    """
    try:
        text = readme.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{readme}: cannot be read: {error}") from None
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in before + after:
        raise AssayError(f"{readme}: needs one line {BEGIN} and, below it, one line {END}")
    return f"{before}{BEGIN}\n{totals}{END}{after}"


def write_totals(readme: Path, results: Results) -> None:
    """Replace the totals of targets in a README by those of `results`, in one piece.

    Raises AssayError as `replace_totals` does, and when it cannot be written.
    """
    write_atomically(readme, replace_totals(readme, render_totals(results)).encode())


def read_totals(path: Path) -> str:
    """Return the totals of targets that the README at `path` holds."""
    return path.read_text("utf-8").partition(f"{BEGIN}\n")[2].partition(END)[0]
