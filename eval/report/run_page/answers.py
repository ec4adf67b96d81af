"""The answers that a language model gave from what a run returned, as the report shows them."""

from dataclasses import dataclass

from assay.eval.report import formats
from assay.eval.report.formats import Figure, count, figure
from assay.eval.report.plots import LinearAxis, Whisker, whisker
from assay.eval.runs.generated_answers import StoredAnswer
from assay.eval.runs.summary.generated_answers import Answers
from assay.eval.scoring.measures import find

ENDINGS = {"refusal": "refused", "length": "cut off", "unasked": "not answered"}


@dataclass(frozen=True)
class MeasureRow:
    """The mean of a measure, or a share of queries."""

    name: str
    meaning: str
    n: int
    figure: Figure
    whisker: Whisker


@dataclass(frozen=True)
class AnswerRow:
    """An answer, "" where none was given; `said` tells of one that is not whole."""

    id: str
    text: str
    answer: str
    said: str
    cited: int


@dataclass(frozen=True)
class AnswersView:
    """The section of a run that a language model has answered from."""

    lede: str
    bill: str
    rows: tuple[MeasureRow, ...]
    answers: tuple[AnswerRow, ...]


def view_answers(found: Answers | None) -> AnswersView | None:
    """Return the section; None where there are no answers."""
    if found is None:
        return None
    known, of = len(found.answers), len(found.run.queries)
    sample = "" if known == of else f" of {of:,}, a sample"
    rows = [(name, find(name).meaning, mean) for name, mean in found.means.items()]
    shares = [("No answer", words, share) for words, share in found.abstained if share]
    axis = LinearAxis()
    return AnswersView(
        lede=f"{count(known, 'query', 'queries')}{sample}, answered by {found.recipe.words}.",
        bill=f"{found.bill}.",
        rows=tuple(
            MeasureRow(name, meaning, mean.n, figure(mean, formats.score), whisker(mean, axis))
            for name, meaning, mean in (*rows, *shares)
        ),
        answers=tuple(_answer_row(found, answer) for answer in found.answers),
    )


def _answer_row(found: Answers, answer: StoredAnswer) -> AnswerRow:
    said = ENDINGS.get(answer.ending, "no answer" if answer.abstained else "")
    text = found.run.queries[answer.query].text
    return AnswerRow(answer.query, text, answer.answer, said, len(answer.cited))
