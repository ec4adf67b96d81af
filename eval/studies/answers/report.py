"""The report of generated answers: their measures, and what they cost."""

from operator import itemgetter

from assay.eval.llm.asked_runs import AskedRuns
from assay.eval.report.blocks import Column, Plot, Prose, Report, Table
from assay.eval.report.formats import count
from assay.eval.runs.summary.generated_answers import Answers
from assay.eval.runs.summary.labels import label_runs

COLUMNS = (
    Column("measure", "Measure", value=itemgetter(0)),
    Column("mean", "Mean", "score", itemgetter(1)),
    Column("n", "n", "count", lambda row: row[1].n),
)
NOTE = "Intervals: 95 %, Student's over queries. docs/judging.md has the measures."


def report(found: AskedRuns[Answers]) -> Report:
    """Return the report of the answers from runs."""
    names = label_runs([result.run for result in found.results])
    return Report(
        id="",
        kind="answers",
        title="Answers",
        verdict=[_tell(result) for result in found.results],
        blocks=[
            *(_show(name, result) for name, result in zip(names, found.results, strict=True)),
            Prose("What is measured", NOTE, brief=True),
            *found.show(),
        ],
    )


def _tell(result: Answers) -> str:
    number, of = len(result.answers), len(result.run.queries)
    sample = "" if number == of else f" of {of}, a sample"
    queries = count(number, "query", "queries")
    words = f"{queries}{sample}, answered by {result.recipe.words}; {result.bill}"
    return f"{result.run.manifest.id}: {words}"


def _show(name: str, result: Answers) -> Table:
    abstained = [(words, share) for words, share in result.abstained if share]
    rows = [*result.means.items(), *abstained]
    return Table(name, name, COLUMNS, rows, plot=Plot("mean", "whisker"))
