"""Writing questions about documents by a language model: what is asked, and what came of it."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

from assay.eval.llm.client import Asker, Estimator
from assay.eval.llm.question import Ask
from assay.eval.studies.questions.asking import DrawOutcome, Examiner
from assay.eval.studies.questions.drawing import Draw
from assay.eval.studies.questions.job import QuestionJob
from assay.eval.studies.questions.search import TOP, QuestionSearch, open_search
from assay.eval.studies.questions.selection import QuestionSelection, choose_review, drop_duplicates
from assay.retrievers.base import AssayError, Chunk, Progress
from assay.retrievers.services.ledger import CostLedger


@dataclass(frozen=True)
class CostEstimate:
    """What a job should ask and cost, as an estimator counted it; no reply asked for twice."""

    job: QuestionJob
    counted: Estimator

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return self.job.as_json() | self.counted.as_json()


@dataclass(frozen=True)
class QuestionsResult:
    """What a job came to, and the ledger where anything was asked."""

    job: QuestionJob
    made: QuestionSelection
    ledger: CostLedger | None

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        asked = self.ledger and {
            "run": self.ledger.run.as_json(),
            "earlier": self.ledger.earlier.as_json(),
        }
        return self.job.as_json() | self.made.as_json() | {"calls": asked}


def estimate(job: QuestionJob) -> CostEstimate:
    """Return what the job should ask and cost. Nothing is asked, and nothing indexed."""
    stand_ins = [
        Chunk(one.id, one.doc_id, one.start, one.end, one.text) for one in job.pool.passages[:TOP]
    ]
    return CostEstimate(job, _rehearse(job, lambda _: stand_ins)[0])


def write_questions(job: QuestionJob) -> QuestionsResult:
    """Ask for all questions and test them; each reply is kept the moment it arrives.

    Raises AssayError where it stops before all is asked; the same call then goes on from there.
    """
    progress = job.resources.progress
    with ExitStack() as stack:
        search = stack.enter_context(
            open_search(job.config, list(job.documents.values()), job.resources)
        )
        counted, outcomes = _rehearse(job, search.find)
        ledger = None
        if counted.to_ask:
            ledger = stack.enter_context(job.ledger)
            model = stack.enter_context(job.model)
            ask = stack.enter_context(Asker(model, ledger, job.settings, job.library))
            try:
                outcomes = _ask_all(
                    job, _examiner(job, ask, search.find), ask.calls_at_once, progress
                )
            except AssayError as error:
                raise AssayError(
                    f"{error}; what was answered is kept: the same command goes on from there"
                ) from None
        return QuestionsResult(job, _select(job, outcomes, search, progress), ledger)


def _rehearse(
    job: QuestionJob, search: Callable[[str], Sequence[Chunk]]
) -> tuple[Estimator, dict[str, DrawOutcome]]:
    """Return what would be asked, and the outcomes by kept answers, else by the usual ones."""
    estimator = Estimator(job.model, job.prices, job.library)
    examiner = _examiner(job, estimator, search)
    names = {job.name_query(draw): draw for draw in job.draws}
    return estimator, {name: examiner.examine(draw, name) for name, draw in names.items()}


def _examiner(job: QuestionJob, ask: Ask, search: Callable[[str], Sequence[Chunk]]) -> Examiner:
    return Examiner(ask, job.documents, search, job.spec.max_overlap)


def _ask_all(
    job: QuestionJob, examiner: Examiner, at_once: int, progress: Progress
) -> dict[str, DrawOutcome]:
    """Return the outcome of every draw, asking from `at_once` threads."""
    pool, ended = ThreadPoolExecutor(at_once), Event()

    def examine(draw: Draw) -> DrawOutcome:
        if ended.is_set():
            raise AssayError("not asked")
        return examiner.examine(draw, job.name_query(draw))

    running = [pool.submit(examine, draw) for draw in job.draws]
    try:
        outcomes = progress.track((one.result() for one in running), "questions", len(running))
        return {job.name_query(outcome.draw): outcome for outcome in outcomes}
    finally:
        ended.set()
        pool.shutdown(wait=False, cancel_futures=True)


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
