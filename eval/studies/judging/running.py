"""A language model judges a pool: what it is asked, what that should cost, what came of it."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from assay.eval.collections.authoring.worksheet import Pair
from assay.eval.llm.job import GOES_ON, Ask, Forecast
from assay.eval.llm.session import CostLedger, DryRun, LlmSession
from assay.eval.studies.judging.grades import GradeFile
from assay.eval.studies.judging.model_grades import AGAIN, find_model_file, name_judge, take
from assay.eval.studies.judging.prompts import Form, Reply, Scale
from assay.eval.studies.judging.sheet import Sheet
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.services.errors import TooLongError

PURPOSE = "judge"
MAX_TOKENS = 50
MAX_TOKENS_QUOTED = 500  # a reply that quotes
UNREADABLE = "twice no reply in the required form"


@dataclass(frozen=True, slots=True)
class GradeRequest:
    """One grade to ask for; `again` is the second time, with the passage before the query."""

    pair: Pair
    again: bool


@dataclass(frozen=True)
class JudgingJob:
    """What is asked: the pairs of a table in a blind order, by which form and of which model."""

    table: Path
    sheet: Sheet
    form: Form
    scale: Scale
    asked: tuple[GradeRequest, ...]
    session: LlmSession

    @property
    def judge(self) -> str:
        """What its judgments call the model."""
        return name_judge(self.session.model.name, self.form.digest)

    @cached_property
    def known(self) -> frozenset[tuple[str, bool]]:
        """The pairs whose grades are kept, by digest and whether it is the second."""
        path = find_model_file(self.table)
        if not path.exists():
            return frozenset()
        with closing(GradeFile(path)) as grades:
            graded = grades.read_grades()
        first, second = take(graded, self.judge), take(graded, self.judge + AGAIN)
        return frozenset({(i, False) for i in first} | {(i, True) for i in second})

    @property
    def pending(self) -> list[GradeRequest]:
        """What there is no grade for yet."""
        return [one for one in self.asked if (one.pair.digest, one.again) not in self.known]

    def prompt(self, asking: GradeRequest) -> tuple[Prompt, Prompt]:
        """Return what is sent, and what is after a reply that cannot be read."""
        first, second = (
            Prompt(self.form.instructions, question, True, self.form.example)
            for question in self.form.ask(asking.pair, turned=asking.again)
        )
        return first, second

    def as_json(self) -> dict[str, Any]:
        """Return what is asked as JSON values."""
        return {
            "file": str(self.table),
            "grades": str(find_model_file(self.table)),
            "judge": self.judge,
            "pairs": len(self.sheet.pairs),
            "twice": sum(one.again for one in self.asked),
            "graded_before": len(self.known),
            "to_grade": len(self.pending),
            "highest_asked": self.scale.asked,
            "highest_counted": self.scale.counted,
            "budget_usd": self.session.settings.max_cost_usd,
        }


@dataclass(frozen=True)
class JudgingOutcome:
    """What a run came to. `ungraded` says why there is no grade, by digest of the pair and whether
    it was asked again; `stopped` why not all was asked, if it was not.
    """

    job: JudgingJob
    ledger: CostLedger
    graded: int = 0
    ungraded: dict[tuple[str, bool], str] = field(default_factory=dict)
    stopped: str = ""

    @property
    def reasons(self) -> dict[str, int]:
        """How many grades there are not, by the reason."""
        return dict(Counter(self.ungraded.values()).most_common())

    @property
    def failure(self) -> str:
        """Why the run stopped before all was asked, and how to go on; empty if it did not."""
        if not self.stopped:
            return ""
        return f"{self.stopped}; grades are kept: {GOES_ON}"

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return self.job.as_json() | {
            "complete": not self.stopped,
            "stopped": self.stopped or None,
            "graded_now": self.graded,
            "ungraded": self.reasons,
            **self.ledger.as_json(),
        }


def prepare_job(
    table: Path,
    sheet: Sheet,
    form: Form,
    scale: Scale,
    session: LlmSession,
    *,
    twice: float,
    seed: int,
) -> JudgingJob:
    """Put the pairs of `sheet` into a blind order by `seed`, a share of them to be asked twice."""
    order = sheet.order("model", seed)
    share = round(twice * len(order)) or int(twice > 0)
    asked = [GradeRequest(sheet.by_digest[i], again=False) for i in order]
    asked += [GradeRequest(sheet.by_digest[i], again=True) for i in _spread(order, share)]
    return JudgingJob(table, sheet, form, scale, tuple(asked), session)


def estimate(job: JudgingJob) -> Forecast[DryRun]:
    """Return what a job should use and cost; nothing is asked."""
    counted = job.session.count()
    for asking in job.pending:
        counted.ask(job.prompt(asking)[0])
    return Forecast("grades", job.as_json(), counted)


def run_job(job: JudgingJob) -> JudgingOutcome:
    """Ask for all grades that are not kept yet; each is kept the moment it arrives.

    Raises AssayError before any call: without a key or an extra, and while another process is at
    the same work.
    """
    session = job.session
    ledger = session.ledger(sorted(job.sheet.by_digest), session.model.identity, job.form.digest)
    tasks = {one: partial(_grade, job, one) for one in job.pending}
    if not tasks:
        return JudgingOutcome(job, ledger)
    graded = 0
    ungraded: dict[tuple[str, bool], str] = {}
    with (
        closing(GradeFile(find_model_file(job.table))) as grades,
        session.open(ledger) as asking,
    ):
        for one, reply in asking.each(tasks, "judging"):
            if isinstance(reply, str):
                ungraded[one.pair.digest, one.again] = reply
                continue
            judge = job.judge + AGAIN if one.again else job.judge
            counted = job.scale.count(reply.grade)
            span = reply.span if counted else None
            grades.add(one.pair.digest, judge, counted, span, settles=False)
            graded += 1
    return JudgingOutcome(job, ledger, graded, ungraded, asking.stopped)


def _grade(job: JudgingJob, request: GradeRequest, ask: Ask) -> Reply | str:
    """Return a grade, or in one phrase why there is none."""
    for prompt in job.prompt(request):
        try:
            answer = ask(prompt)
        except TooLongError:
            return "longer than the model can read"
        if answer.ending == "refusal":
            return f"refused: {answer.note}" if answer.note else "refused"
        if reply := job.form.read(answer.text, request.pair):
            return reply
    return UNREADABLE


def _spread(order: Sequence[str], count: int) -> list[str]:
    """Return `count` of `order`, evenly spaced."""
    return [order[i * len(order) // count] for i in range(count)]
