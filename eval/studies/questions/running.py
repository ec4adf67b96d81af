"""Writing questions about documents by a language model: what is asked, and what came of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from assay.eval.llm.job import Ask, Asking, Forecast
from assay.eval.llm.session import DryRun
from assay.eval.studies.questions.asking import DrawOutcome, Examiner
from assay.eval.studies.questions.drawing import Draw
from assay.eval.studies.questions.job import QuestionJob
from assay.eval.studies.questions.search import TOP, QuestionSearch, open_search
from assay.eval.studies.questions.selection import QuestionSelection, choose_review, drop_duplicates
from assay.retrievers.base import Chunk, Progress
from assay.retrievers.services.ledger import CostLedger


@dataclass(frozen=True)
class QuestionsResult:
    """What a job came to, and the ledger where anything was asked."""

    job: QuestionJob
    made: QuestionSelection
    ledger: CostLedger | None

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        asked = self.ledger and self.ledger.as_json()
        return self.job.as_json() | self.made.as_json() | {"calls": asked}


def estimate(job: QuestionJob) -> Forecast[DryRun]:
    """Return what the job should ask and cost. Nothing is asked, and nothing indexed."""
    stand_ins = [
        Chunk(one.id, one.doc_id, one.start, one.end, one.text) for one in job.pool.passages[:TOP]
    ]
    counted = job.session.count()
    _examine_all(job, Asking(counted.ask), lambda _: stand_ins)
    return Forecast("questions", job.as_json(), counted)


def write_questions(job: QuestionJob) -> QuestionsResult:
    """Ask for all questions and test them; each reply is kept the moment it arrives.

    Raises AssayError where it stops before all is asked; the same call then goes on from there.
    """
    session = job.session
    documents = list(job.documents.values())
    with open_search(job.config, documents, session.resources) as search:
        counted, ledger = session.count(), job.ledger
        _examine_all(job, Asking(counted.ask), search.find)
        with session.open(ledger, counted) as asking:
            outcomes = _examine_all(job, asking, search.find)
        made = _select(job, outcomes, search, session.resources.progress)
        return QuestionsResult(job, made, ledger if counted.to_ask else None)


def _examine_all(
    job: QuestionJob, asking: Asking, search: Callable[[str], Sequence[Chunk]]
) -> dict[str, DrawOutcome]:
    """Return the outcome of every draw, by the id of its query."""

    def examine(name: str, draw: Draw, ask: Ask) -> DrawOutcome:
        return Examiner(ask, job.documents, search, job.spec.max_overlap).examine(draw, name)

    names = {job.name_query(draw): draw for draw in job.draws}
    tasks = {name: partial(examine, name, draw) for name, draw in names.items()}
    return asking.all(tasks, "questions")


def _select(
    job: QuestionJob,
    outcomes: Mapping[str, DrawOutcome],
    search: QuestionSearch,
    progress: Progress,
) -> QuestionSelection:
    """Return what is kept, without near duplicates, and how keyword and dense search do on it."""
    questions = [outcome.question for outcome in outcomes.values() if outcome.cause is None]
    if questions:
        outcomes = drop_duplicates(outcomes, search.encode(questions), job.spec.max_similarity)
    made = QuestionSelection(outcomes, empty=job.empty)
    answered = {
        name: outcome.question for name, outcome in made.kept.items() if outcome.draw.kind.answered
    }
    gold = {name: made.kept[name].gold for name in answered}
    return replace(
        made,
        review=choose_review(list(made.kept), job.spec.review, job.spec.seed),
        bias=search.measure(answered, gold, progress),
    )
