"""A language model judges a pool: what is asked, what it costs, what came of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from eval.collections.authoring.worksheet import Pair
from eval.experiments.model_choice import is_charged, read_settings
from eval.experiments.workshop import make_workshop
from eval.judging.grades import GradeFile
from eval.judging.model_grades import AGAIN, find_model_file, name_judge, take
from eval.judging.prompts import Form, Reply, Scale
from eval.judging.sheet import Sheet
from retrievers.base import AssayError, Progress
from retrievers.language_models.answers import AnswerCache, KeptAnswer
from retrievers.language_models.base import LanguageModel, Prompt, TooLongError
from retrievers.language_models.client import CallSettings, LanguageModelClient, find_prices
from retrievers.language_models.estimates import DryRun
from retrievers.language_models.ledger import Account, Ledger
from retrievers.settings import Workshop
from retrievers.store.digest import digest

LEDGERS = "judge-ledger"
MAX_TOKENS = 50
MAX_TOKENS_QUOTED = 500  # a reply that quotes
UNREADABLE = "no reply in the form asked for, twice"


@dataclass(frozen=True, slots=True)
class Asking:
    """One grade to ask for; `again` is the second time, with the passage before the query."""

    pair: Pair
    again: bool


@dataclass(frozen=True)
class Job:
    """What is asked: the pairs of a table in a blind order, by which form and of which model."""

    table: Path
    sheet: Sheet
    form: Form
    scale: Scale
    asked: tuple[Asking, ...]
    model: LanguageModel
    settings: CallSettings
    workshop: Workshop

    @property
    def judge(self) -> str:
        """What its judgments call the model."""
        return name_judge(self.model.name, self.form.digest)

    @property
    def charged(self) -> bool:
        """Whether the calls cost anything, as far as is known."""
        return is_charged(self.settings.prices or self.model.prices)

    @cached_property
    def known(self) -> frozenset[tuple[str, bool]]:
        """The pairs whose grades are kept, by digest and whether it is the second."""
        path = find_model_file(self.table)
        if not path.exists():
            return frozenset()
        with closing(GradeFile(path)) as grades:
            graded = grades.read_grades()
        first, second = take(graded, self.judge), take(graded, self.judge + AGAIN)
        return frozenset({(at, False) for at in first} | {(at, True) for at in second})

    @property
    def pending(self) -> list[Asking]:
        """What there is no grade for yet."""
        return [one for one in self.asked if (one.pair.digest, one.again) not in self.known]

    def prompt(self, asking: Asking) -> tuple[Prompt, Prompt]:
        """Return what is sent, and what is after a reply that cannot be read."""
        first, second = (
            Prompt(self.form.instructions, question, shared=True)
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
            "to_ask": len(self.pending),
            "highest_asked": self.scale.asked,
            "highest_counted": self.scale.counted,
            "budget_usd": self.settings.max_cost_usd,
        }


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a job should use and cost."""

    job: Job
    counted: DryRun

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        counted = self.counted
        return self.job.as_json() | {
            "calls": counted.to_ask,
            "answers_known": counted.known,
            "estimate": {
                "tokens": {
                    "input": counted.usage.prompt,
                    "cache_read": counted.usage.cache_read,
                    "output": counted.usage.output,
                },
                "usd": counted.usd,
                "worst_usd": counted.worst_usd,
            },
        }


@dataclass(frozen=True)
class Outcome:
    """What a run came to. `ungraded` says why there is no grade, by digest of the pair and whether
    it was asked again; `stopped` why not all was asked, if it was not.
    """

    job: Job
    graded: int = 0
    ungraded: dict[tuple[str, bool], str] = field(default_factory=dict)
    stopped: str = ""
    run: Account = field(default_factory=Account)
    earlier: Account = field(default_factory=Account)

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


def prepare_job(
    table: Path,
    sheet: Sheet,
    form: Form,
    scale: Scale,
    options: dict[str, Any],
    *,
    twice: float,
    seed: int,
    progress: Progress,
) -> Job:
    """Put the pairs of `sheet` into a blind order by `seed`, a share of them to be asked twice."""
    workshop = make_workshop(progress)
    usual = MAX_TOKENS_QUOTED if form.spans else MAX_TOKENS
    if options.get("max_tokens") is None:
        options = {**options, "max_tokens": usual}
    model, settings = read_settings(options, workshop)
    order = sheet.order("model", seed)
    share = round(twice * len(order)) or int(twice > 0)
    asked = [Asking(sheet.by_digest[at], again=False) for at in order]
    asked += [Asking(sheet.by_digest[at], again=True) for at in _spread(order, share)]
    return Job(table, sheet, form, scale, tuple(asked), model, settings, workshop)


def estimate(job: Job) -> Forecast:
    """Return what a job should use and cost; nothing is asked."""
    prices = find_prices(job.model, job.settings)
    counted = DryRun(job.model, prices, AnswerCache(job.workshop.cache, job.model))
    for asking in job.pending:
        counted.ask(job.prompt(asking)[0], job.form.example)
    return Forecast(job, counted)


def run_job(job: Job) -> Outcome:
    """Ask for all grades that are not kept yet; each is kept the moment it arrives.

    Raises AssayError before any call: without prices to a budget, without a key or an extra, and
    while another process is at the same work.
    """
    prices = find_prices(job.model, job.settings)
    pending = job.pending
    if not pending:
        return Outcome(job)
    name = digest("judge job", sorted(job.sheet.by_digest), job.model.identity, job.form.digest)
    path = job.workshop.cache.root / LEDGERS / f"{name}.jsonl"
    answers = AnswerCache(job.workshop.cache, job.model)
    with (
        closing(GradeFile(find_model_file(job.table))) as grades,
        Ledger(path, prices, job.settings.max_cost_usd) as ledger,
        job.model,
    ):
        client = LanguageModelClient(job.model, ledger, job.settings, answers)
        graded = 0
        ungraded: dict[tuple[str, bool], str] = {}
        # The client is left first: it calls the threads back from their waits.
        with ThreadPoolExecutor(client.calls_at_once) as pool, client:
            running = {pool.submit(_grade, job, client, one): one for one in pending}
            landed = job.workshop.progress.track(_land(running, client), "judging", len(pending))
            for asking, reply in landed:
                if isinstance(reply, str):
                    ungraded[asking.pair.digest, asking.again] = reply
                    continue
                judge = job.judge + AGAIN if asking.again else job.judge
                counted = job.scale.count(reply.grade)
                span = reply.span if counted else None
                grades.add(asking.pair.digest, judge, counted, span, settles=False)
                graded += 1
            return Outcome(job, graded, ungraded, client.stopped, ledger.run, ledger.earlier)


def _land(
    running: dict[Future[Reply | str], Asking], client: LanguageModelClient
) -> Iterator[tuple[Asking, Reply | str]]:
    """Yield each grade, or why there is none, once it is known, until the client stops."""
    for future in as_completed(running):
        try:
            yield running[future], future.result()
        except AssayError as error:
            client.stop(str(error))


def _grade(job: Job, client: LanguageModelClient, asking: Asking) -> Reply | str:
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


def _spread(order: Sequence[str], count: int) -> list[str]:
    """Return `count` of `order`, evenly spaced."""
    return [order[at * len(order) // count] for at in range(count)]
