"""The description of a run in MLflow: Markdown, with its table and a link to its report."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.eval.report.markdown import plain
from assay.eval.report.renderers import markdown
from assay.eval.report.run_page.report import report
from assay.eval.runs.summary.summary import Summary

NOTE = "mlflow.note.content"
REPORT = "report.html"
FOLDERS = re.compile(r"(?<![^\s=])[^\s=]*/")


def describe_run(summary: Summary) -> str:
    """Return the brief description of a run."""
    told = report(summary, whole=False)
    return markdown.render(replace(told, id="", environment={}))


def describe_children(measure: str, rows: Iterable[tuple[str, float, str]], experiment: str) -> str:
    """Return runs as a table, best first: each its name, its `measure` and its id in MLflow."""
    ranked = sorted(rows, key=lambda row: -row[1])
    shown = [
        (f"[{plain(name)}]({_address(experiment, run_id)})", f"{value:.3f}")
        for name, value, run_id in ranked
    ]
    return make_table(("Run", measure), shown)


def add_link(text: str, experiment: str, run_id: str, files: Iterable[str]) -> str:
    """Return a description with a link to the report, if that is among the `files` of the run."""
    if REPORT not in files:
        return text
    return f"{text}\n\n[Report]({_address(experiment, run_id)}/artifacts/{REPORT})\n"


def tag_source(command: str) -> dict[str, str]:
    """Return the tags by which MLflow shows a command; it shows only the part after a slash."""
    return {"mlflow.source.name": FOLDERS.sub("", command), "mlflow.source.type": "LOCAL"}


def make_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _address(experiment: str, run_id: str) -> str:
    """Return the address of a run within MLflow's pages."""
    return f"#/experiments/{experiment}/runs/{run_id}"
