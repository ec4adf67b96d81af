"""A language model judges a pool: the calls, and what came of them."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from assay.eval.studies.judging.grades import GradeFile
from assay.eval.studies.judging.model_grades import AGAIN, find_model_file
from assay.eval.studies.judging.prompts import Reply
from assay.eval.studies.judging.running import GradeRequest, JudgingJob
from assay.retrievers.base import AssayError
from assay.retrievers.language_models.answers import AnswerCache, KeptAnswer
from assay.retrievers.language_models.client import LanguageModelClient, find_prices
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.services.ledger import CallTotals, CostLedger
from assay.retrievers.store.digest import digest

LEDGERS = "judge-ledger"
UNREADABLE = "twice no reply in the required form"


@dataclass(frozen=True)
class JudgingOutcome:
    """What a run came to. `ungraded` says why there is no grade, by digest of the pair and whether
    it was asked again; `stopped` why not all was asked, if it was not.
    """

    job: JudgingJob
    graded: int = 0
    ungraded: dict[tuple[str, bool], str] = field(default_factory=dict)
    stopped: str = ""
    run: CallTotals = field(default_factory=CallTotals)
    earlier: CallTotals = field(default_factory=CallTotals)

    @property
    def reasons(self) -> dict[str, int]:
        """How many grades there are not, by the reason."""
        return dict(Counter(self.ungraded.values()).most_common())

    @property
    def failure(self) -> str:
        """Why the run stopped before all was asked, and how to go on; empty if it did not."""
        if not self.stopped:
            return ""
        return f"{self.stopped}; grades are kept: the same command goes on from there"

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return self.job.as_json() | {
            "complete": not self.stopped,
            "stopped": self.stopped or None,
            "graded_now": self.graded,
            "ungraded": self.reasons,
            "run": self.run.as_json(),
            "earlier": self.earlier.as_json(),
        }


def run_job(job: JudgingJob) -> JudgingOutcome:
    """Ask for all grades that are not kept yet; each is kept the moment it arrives.

    Raises AssayError before any call: without prices to a budget, without a key or an extra, and
    while another process is at the same work.
    """
    prices = find_prices(job.model, job.settings)
    pending = job.pending
    if not pending:
        return JudgingOutcome(job)
    name = digest("judge job", sorted(job.sheet.by_digest), job.model.identity, job.form.digest)
    path = job.resources.cache.root / LEDGERS / f"{name}.jsonl"
    answers = AnswerCache(job.resources.cache, job.model)
    with (
        closing(GradeFile(find_model_file(job.table))) as grades,
        CostLedger(path, prices, job.settings.max_cost_usd) as ledger,
        job.model,
    ):
        client = LanguageModelClient(job.model, ledger, job.settings, answers)
        graded = 0
        ungraded: dict[tuple[str, bool], str] = {}
        # The client is left first: it calls the threads back from their waits.
        with ThreadPoolExecutor(client.calls_at_once) as pool, client:
            running = {pool.submit(_grade, job, client, one): one for one in pending}
            landed = job.resources.progress.track(_land(running, client), "judging", len(pending))
            for asking, reply in landed:
                if isinstance(reply, str):
                    ungraded[asking.pair.digest, asking.again] = reply
                    continue
                judge = job.judge + AGAIN if asking.again else job.judge
                counted = job.scale.count(reply.grade)
                span = reply.span if counted else None
                grades.add(asking.pair.digest, judge, counted, span, settles=False)
                graded += 1
            return JudgingOutcome(job, graded, ungraded, client.stopped, ledger.run, ledger.earlier)


def _land(
    running: dict[Future[Reply | str], GradeRequest], client: LanguageModelClient
) -> Iterator[tuple[GradeRequest, Reply | str]]:
    """Yield each grade, or why there is none, once it is known, until the client stops."""
    for future in as_completed(running):
        try:
            yield running[future], future.result()
        except AssayError as error:
            client.stop(str(error))


def _grade(job: JudgingJob, client: LanguageModelClient, asking: GradeRequest) -> Reply | str:
    """Return a grade, or in one phrase why there is none."""
    for prompt in job.prompt(asking):
        try:
            answer = client.ask(prompt)
        except TooLongError:
            return "longer than the model can read"
        if answer.ending == "refusal":
            return _tell_refusal(answer)
        if reply := job.form.read(answer.text, asking.pair):
            return reply
    return UNREADABLE


def _tell_refusal(answer: KeptAnswer) -> str:
    return f"refused: {answer.note}" if answer.note else "refused"
