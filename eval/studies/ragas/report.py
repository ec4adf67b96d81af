"""The report of ragas scores: each metric with its nearest measure, and where they differ."""

from collections.abc import Iterator
from operator import attrgetter, itemgetter

from assay.eval.llm.asked_runs import AskedRuns
from assay.eval.report.blocks import Block, Column, Plot, Prose, Report, Table
from assay.eval.report.formats import count
from assay.eval.runs.summary.labels import label_runs
from assay.eval.studies.ragas.results import RagasResult

COLUMNS = (
    Column("metric", "ragas", value=attrgetter("metric.name")),
    Column("mean", "Mean", "score"),
    Column("n", "n", "count", lambda item: len(item.scores.values)),
    Column("measure", "Nearest", value=lambda item: item.measure or "none"),
    Column("measure_mean", "Its mean", "score"),
    Column("kendall_tau", "τ", "difference", attrgetter("tau")),
    Column("differ", "Differ", "count"),
    Column("relation", "How they differ", value=attrgetter("metric.relation"), brief=False),
)
WITHOUT = (
    Column("metric", "ragas", value=itemgetter(0)),
    Column("queries", "Queries", "count", itemgetter(1)),
    Column("why", "Why", value=itemgetter(2)),
)
DISAGREEMENTS = (
    Column("metric", "ragas", value=itemgetter(0)),
    Column("query", "Query", value=lambda row: row[2].query),
    Column("text", "Text", value=lambda row: row[2].text),
    Column("score", "Score", "score", lambda row: row[2].ragas),
    Column("measure", "Nearest", value=itemgetter(1)),
    Column("measure_score", "Its score", "score", lambda row: row[2].measure),
)
NOTE = (
    "Intervals: 95 %, Student's over queries. τ: Kendall's tau-b of the two scores over queries. "
    "Differ: queries whose scores differ. docs/judging.md explains where, and why."
)


def report(found: AskedRuns[RagasResult]) -> Report:
    """Return the report of scores of ragas."""
    names = label_runs([result.run for result in found.results])
    return Report(
        id="",
        kind="ragas",
        title="Scores of ragas",
        verdict=[_tell(result) for result in found.results],
        blocks=[
            *(
                block
                for name, result in zip(names, found.results, strict=True)
                for block in _show(name, result)
            ),
            Prose("What the columns mean", NOTE, brief=True),
            *found.show(),
        ],
    )


def _tell(result: RagasResult) -> str:
    sample = "" if result.queries == len(result.run.queries) else ", a sample"
    judge = f", judged by {result.judge}" if result.judge else ""
    of = count(result.queries, "query", "queries")
    return f"{result.run.manifest.id}: first {result.k} hits of {of}{sample}{judge}"


def _show(name: str, result: RagasResult) -> Iterator[Block]:
    """Yield the means of a run, the queries without a score, and those whose scores differ."""
    yield Table(name, name, COLUMNS, result.found, plot=Plot("mean", "whisker"))
    without = [
        *(
            (item.metric.name, number, why)
            for item in result.found
            for why, number in item.scores.reasons.items()
        ),
        *(
            (item.metric.name, len(item.scores.empty), "no hit: scores 0")
            for item in result.found
            if item.scores.empty and item.mean
        ),
    ]
    if without:
        yield Table(f"{name}_without", f"{name}: queries without a score", WITHOUT, without)
    apart = [
        (item.metric.name, item.measure, gap) for item in result.found for gap in item.disagreements
    ]
    if apart:
        title = f"{name}: queries of the greatest disagreement"
        yield Table(f"{name}_disagreements", title, DISAGREEMENTS, apart, brief=False)
