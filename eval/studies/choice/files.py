"""The files of a choice: the pipeline to ship, and beside it its report."""

from pathlib import Path

from assay.eval.report.blocks import Report
from assay.eval.report.files import BESIDE, write_beside
from assay.eval.running.result_files import StoredResult, write_result
from assay.eval.runs import environment
from assay.eval.studies.choice.choice import Choice
from assay.eval.studies.tuning.tuned_config import render_changes


def write_files(
    choice: Choice,
    report: Report,
    base: str | Path,
    path: Path,
    *,
    named: bool,
    force: bool,
) -> tuple[list[Path], str]:
    """Write the pipeline to ship, on top of the config `base`, to `path`, and its report beside it.

    Return the paths, that of the page last but one, and what is to be said of what stood there:
    see `write_result`.
    """
    told = {
        "name": f"{choice.config.name}_chosen",
        "description": f"{choice.conclusion.removesuffix('.')}, by: {environment.command_line()}",
    }
    text = render_changes(path, Path(base), choice.shipped.model_copy(update=told))
    path, word = write_result(
        path, StoredResult("choose", choice.asked, text), BESIDE, named=named, force=force
    )
    return [path, *write_beside(choice, report, path)], word
