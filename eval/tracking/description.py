"""What MLflow shows of a run in words: Markdown, with its table and a link to its report."""

import re
from collections.abc import Iterable, Sequence

from assay.eval.report.formats import interval
from assay.eval.report.markdown import plain
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.measures import choose_headline, find
from assay.eval.statistics.estimates import OpenEstimate

NOTE = "mlflow.note.content"
REPORT = "report.html"
SHOWN = ("p50", "p95")
FOLDERS = re.compile(r"(?<![^\s=])[^\s=]*/")


def describe_run(summary: Summary) -> str:
    """Return the measures and the latency of a run as a table."""
    manifest = summary.run.manifest
    headline = choose_headline(summary.means)
    names = [headline, *(name for name in summary.means if name != headline)]
    rows = [_row(name, summary.means[name], find(name).digits) for name in names]
    total = summary.latency.get(TOTAL, {})
    rows += [_row(f"{name} latency, ms", total[name], 2) for name in SHOWN if name in total]
    lines = [
        f"**{plain(manifest.name)}** on **{plain(manifest.collection.name)}**, "
        f"{len(summary.run.queries):,} queries",
        *[f"**{plain(line)}**" for line in manifest.degraded],
    ]
    return "\n\n".join([*lines, make_table(("", "Mean", "95 % interval"), rows)])


def describe_children(measure: str, rows: Iterable[tuple[str, float, str]], experiment: str) -> str:
    """Return runs as a table, best first: each its name, its `measure` and its id in MLflow."""
    ranked = sorted(rows, key=lambda row: -row[1])
    shown = [
        (f"[{plain(name)}]({_address(experiment, run_id)})", f"{value:.3f}")
        for name, value, run_id in ranked
    ]
    return make_table(("Run", measure), shown)


def add_link(text: str, experiment: str, run_id: str, files: Iterable[str]) -> str:
    """Return a description with a link to the report, where it is among the `files` of the run."""
    if REPORT not in files:
        return text
    return f"{text}\n\n[Report]({_address(experiment, run_id)}/artifacts/{REPORT})\n"


def tag_source(command: str) -> dict[str, str]:
    """Return the tags by which MLflow shows a command, of which it shows what follows a slash."""
    return {"mlflow.source.name": FOLDERS.sub("", command), "mlflow.source.type": "LOCAL"}


def _row(name: str, estimate: OpenEstimate, digits: int) -> tuple[str, str, str]:
    shape = f"{{:,.{digits}f}}".format
    return plain(name), shape(estimate.value), interval(estimate, shape)


def make_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _address(experiment: str, run_id: str) -> str:
    """Return the address of a run within MLflow's pages."""
    return f"#/experiments/{experiment}/runs/{run_id}"
