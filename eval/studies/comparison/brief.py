"""A comparison in half a page and plain words, for colleagues who read no measures."""

from assay.eval.report.blocks import Column, Plot, Prose, Report, Table
from assay.eval.report.formats import count, enumerate_words
from assay.eval.runs.machine_load import UNRELIABLE
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.tables import TONES, RunRow, list_runs

FOUND = "Hit@5"
MOST_WARNINGS = 2
WORDS = {"better": "better", "worse": "worse", "no difference shown": "no proven difference"}


def report(compared: Comparison) -> Report:
    """Return the report in half a page: the verdict, a picture of the runs, and its basis."""
    measure = compared.pairs[0].headline.measure
    found = FOUND if FOUND in compared.measures else measure
    manifest = compared.base.run.manifest
    what = "Found in the first 5" if found == FOUND else f"Mean {found}"
    columns = [
        Column("run", "Pipeline", value=lambda row: row.label),
        Column("found", what, "share", value=lambda row: row.summary.means[found]),
        Column(
            "verdict",
            f"Against {compared.labels[0]}",
            value=_judge,
            tone=lambda row: TONES.get(row.verdict, ""),
        ),
        Column("p50", "Typical time", "milliseconds"),
    ]
    rows = list_runs(compared)
    basis = [
        f"{count(len(compared.base.run.queries), 'question')}{compared.describe_questions()}, "
        f"judged on {manifest.collection.title}.",
        f"Better and worse are by {measure}, which also counts how high right passages stand; a "
        "difference that chance alone could make is not called one.",
        "The bar beside a figure spans where it would likely lie with other questions like these.",
    ]
    return Report(
        id=compared.id,
        kind="comparison",
        title=f"Which pipeline? {enumerate_words(compared.labels)}",
        verdict=[*compared.verdict, *(_count(rows) if found == FOUND else ())],
        warnings=[line for line in compared.warnings if UNRELIABLE not in line][:MOST_WARNINGS],
        blocks=[
            Table("runs", "The pipelines", columns, rows, plot=Plot("found", "share")),
            Prose("What this rests on", " ".join(basis), brief=True),
        ],
    )


def _count(rows: list[RunRow]) -> list[str]:
    """Return a sentence on the questions with a right passage in the first 5 results."""
    queries = len(rows[0].summary.run.queries)
    each = [f"{round(queries * row.summary.means[FOUND].value)} with {row.label}" for row in rows]
    told = f"Of {count(queries, 'question')}, {enumerate_words(each)} get a right passage"
    return [f"{told} in the first 5 results."]


def _judge(row: RunRow) -> str | None:
    return WORDS.get(row.verdict, "too few questions to tell") if row.against else None
