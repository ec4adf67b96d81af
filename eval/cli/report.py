"""`assay report`: the report of a stored run or comparison, computed again from its files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.eval.cli import options
from assay.eval.cli.output import present

if TYPE_CHECKING:
    from assay.eval.studies.comparison.comparison import Comparison


@click.command()
@click.argument("run")
@options.FULL
@options.JSON
def report(run: str, as_json: bool) -> None:
    """Compute measures, exports and report of RUN again, without searching.

    RUN is the id of a run, the beginning of one, or its folder; or the name or the folder of a
    comparison.
    """
    from assay.eval.configs.locations import reports_folder

    if folder := _find_comparison(reports_folder(), run):
        _report_comparison(folder, as_json)
    else:
        _report_run(run, as_json)


def _report_run(reference: str, as_json: bool) -> None:
    from assay.eval.cli.run import print_summary
    from assay.eval.configs.locations import reports_folder
    from assay.eval.running.run import write_report
    from assay.eval.runs import stored as runs

    summary, page = write_report(runs.load(runs.find(reports_folder(), reference)), rerun=True)
    present(summary, as_json, print_summary, report=page)


def _find_comparison(reports: Path, reference: str) -> Path | None:
    from assay.eval.studies.comparison.page import COMPARISON

    places = (Path(reference), reports / reference)
    return next((folder for folder in places if (folder / COMPARISON).exists()), None)


def _report_comparison(folder: Path, as_json: bool) -> None:
    from assay.eval.studies.comparison.page import write

    compared = _compare_again(folder)
    page = write(compared, folder.parent)
    present(compared, as_json, print_comparison, report=page)


def print_comparison(compared: "Comparison", full: bool | None = None) -> None:
    """Print which run is better, a table, and what to check; `full` as for `print_report`."""
    from assay.eval.cli.report_screen import print_report
    from assay.eval.studies.comparison.report import report

    print_report(report(compared), full, titled=False)


def _compare_again(folder: Path) -> "Comparison":
    """Compare the runs that the comparison in `folder` names, which lie beside it."""
    from assay.eval.running.timing import read_timing
    from assay.eval.runs.stored import find, load
    from assay.eval.studies.comparison.analysis import compare
    from assay.eval.studies.comparison.page import COMPARISON
    from assay.eval.studies.comparison.running import TIMING
    from assay.retrievers.base import AssayError

    path = folder / COMPARISON
    try:
        facts = json.loads(path.read_bytes())
        all_pairs = "ranking" in facts
        listed = facts["ranking"] if all_pairs else [facts["base"], *facts["others"]]
        pairs = facts["pairs" if all_pairs else "others"]
        names = [run["run"] for run in listed]
        measures = [item["measure"] for item in pairs[0]["differences"]]
        measures += list(listed[0]["beside"])
        effect, apart = facts["effect"], facts.get("apart")
    except (ValueError, LookupError, TypeError):
        raise AssayError(f"{path}: not a comparison that this version reads") from None
    runs = [load(find(folder.parent, name)) for name in names]
    return compare(runs, measures, effect, read_timing(folder / TIMING), apart, all_pairs)
