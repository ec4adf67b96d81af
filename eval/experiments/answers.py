"""`assay answer`: a language model answers each query of stored runs from what these returned."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from math import fsum
from pathlib import Path
from threading import Event
from typing import Any

from eval import tracking
from eval.analysis.answering import find_unanswered, list_values
from eval.analysis.means import estimate_scores
from eval.experiments.answer_prompts import TASK, Case, Task, read_answer
from eval.experiments.desk import Desk
from eval.runs import answered
from eval.runs.answered import Recipe, Span, StoredAnswer
from eval.runs.stored import StoredRun
from eval.statistics.estimates import Estimate, estimate_share
from eval.tracking.answers import log_answers
from retrievers.base import AssayError, Progress
from retrievers.language_models.answers import KeptAnswer
from retrievers.language_models.base import Prompt, TooLongError
from retrievers.language_models.client import LanguageModelClient
from retrievers.language_models.estimates import DryRun
from retrievers.language_models.ledger import Ledger
from retrievers.store.digest import digest

PURPOSE = "answer"
MAX_TOKENS = 400
# An answer of the usual form and length.
EXAMPLE = (
    "Within thirty days, in writing, to the office that issued the permit [1]. A late filing is"
    " accepted only where the delay was not the filer's fault [3]."
)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a task should ask and cost."""

    task: Task
    counted: DryRun

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        counted = self.counted
        tokens = {"input": counted.usage.input, "output": counted.usage.output}
        return {
            "runs": [run.manifest.id for run in self.task.runs],
            "queries": sum(len(cases) for _, cases in self.task.cases),
            "model": counted.model.name,
            "known_before": counted.known,
            "to_ask": counted.to_ask,
            "estimate": {"tokens": tokens, "usd": counted.usd, "worst_usd": counted.worst_usd},
        }


@dataclass(frozen=True)
class Result:
    """The answers of a run: the mean of each measure, and what they took.

    `abstained` is the share of queries that got no answer, of those that nothing answers (right)
    and of the others (wrong); None where there are none. `means` are over the queries asked, which
    may be a sample.
    """

    run: StoredRun
    path: Path
    recipe: Recipe
    answers: Sequence[StoredAnswer]
    means: Mapping[str, Estimate]
    rightly_abstained: Estimate | None
    wrongly_abstained: Estimate | None

    @property
    def endings(self) -> dict[str, int]:
        """How many answers were refused or cut off, or not asked for as nothing was returned."""
        found = [answer.ending for answer in self.answers]
        return {name: found.count(name) for name in ("refusal", "length", "unasked")}

    @property
    def usd(self) -> float | None:
        """What the answers cost, whenever they were paid for; None where that is not known."""
        costs = [answer.usd for answer in self.answers]
        return None if None in costs else fsum(cost for cost in costs if cost is not None)

    @property
    def tokens(self) -> int:
        """The tokens of prompts and answers, as far as they are known."""
        return sum((row.prompt_tokens or 0) + (row.output_tokens or 0) for row in self.answers)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "run": self.run.manifest.id,
            "collection": self.run.manifest.collection.name,
            "recipe": asdict(self.recipe),
            "queries": len(self.answers),
            "measures": {name: list_values(mean) for name, mean in self.means.items()},
            "abstained": {
                "unanswered": list_values(self.rightly_abstained),
                "answered": list_values(self.wrongly_abstained),
            },
            "endings": self.endings,
            "tokens": self.tokens,
            "usd": self.usd,
            "file": str(self.path),
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results by run, the ids of their MLflow runs, and the ledger, if anything was asked."""

    results: Sequence[Result]
    tracked: Sequence[str | None]
    ledger: Ledger | None

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        runs = [
            {**result.as_json(), "mlflow_run": id_}
            for result, id_ in zip(self.results, self.tracked, strict=True)
        ]
        asked = self.ledger and {
            "run": self.ledger.run.as_json(),
            "earlier": self.ledger.earlier.as_json(),
            "budget_usd": self.ledger.budget,
        }
        return {"runs": runs, "asked": asked}


def estimate(task: Task, desk: Desk) -> Forecast:
    """Return what the task would ask and what that should cost."""
    counted = DryRun(desk.model, desk.prices, desk.library)
    for _, cases in task.cases:
        for case in cases:
            if case.prompt:
                counted.ask(case.prompt, EXAMPLE)
    return Forecast(task, counted)


def answer(task: Task, desk: Desk, progress: Progress, *, track: bool) -> Outcome:
    """Ask what is not known, and write the answers into the folder of each run.

    What was answered is kept as it comes. Raises AssayError where no further call can succeed.
    """
    results = []
    ledger: Ledger | None = None
    with ExitStack() as stack:
        ask: Callable[[Prompt], KeptAnswer]
        counted = estimate(task, desk).counted
        if counted.to_ask:
            ledger = stack.enter_context(desk.ledger(PURPOSE, task.runs))
            model = stack.enter_context(desk.model)
            client = LanguageModelClient(model, ledger, desk.settings, desk.library)
            ask = stack.enter_context(client).ask
        else:
            ask = lambda prompt: counted.ask(prompt, EXAMPLE)  # noqa: E731 - all are known
        for run, cases in task.cases:
            replies = _ask_all(cases, ask, desk.at_once if ledger else 1, progress)
            results.append(_write(run, cases, replies, task.budgets[run.manifest.id], desk))
    tracked = [_track(result, progress) if track else None for result in results]
    return Outcome(results, tracked, ledger)


def _ask_all(
    cases: Sequence[Case],
    ask: Callable[[Prompt], KeptAnswer],
    at_once: int,
    progress: Progress,
) -> dict[str, KeptAnswer]:
    """Return the answers by query, asking from `at_once` threads."""
    prompts = {case.query: case.prompt for case in cases if case.prompt}
    pool, ended = ThreadPoolExecutor(at_once), Event()

    def ask_until_ended(prompt: Prompt) -> KeptAnswer | None:
        return None if ended.is_set() else ask(prompt)

    running = {pool.submit(ask_until_ended, prompt): query for query, prompt in prompts.items()}
    found = {}
    try:
        for future in progress.track(as_completed(running), "answering", len(running)):
            query = running[future]
            try:
                reply = future.result()
            except TooLongError as error:
                raise AssayError(
                    f"query {query}: the context is longer than the model reads; allowed: fewer"
                    f" --context-tokens; {error}"
                ) from None
            except AssayError as error:
                raise AssayError(
                    f"{error}; what was answered is kept: the same command goes on from there"
                ) from None
            assert reply is not None
            found[query] = reply
    finally:
        ended.set()
        pool.shutdown(wait=False, cancel_futures=True)
    return found


def _write(
    run: StoredRun,
    cases: Sequence[Case],
    replies: Mapping[str, KeptAnswer],
    budget: int | None,
    desk: Desk,
) -> Result:
    recipe = Recipe(desk.model.name, desk.model.identity, digest(TASK), budget)
    answers = [_describe(case, replies.get(case.query), desk) for case in cases]
    path = answered.write(run.folder, recipe, answers)
    asked = run.take({answer.query for answer in answers})
    scores = answered.score(asked, answered.list_available(asked))
    means = {name: estimate_scores(name, found.values()) for name, found in scores.items()}
    unanswered = find_unanswered(run)
    return Result(
        run=run,
        path=path,
        recipe=recipe,
        answers=answers,
        means=means,
        rightly_abstained=_count(row for row in answers if row.query in unanswered),
        wrongly_abstained=_count(row for row in answers if row.query not in unanswered),
    )


def _describe(case: Case, reply: KeptAnswer | None, desk: Desk) -> StoredAnswer:
    """Return a row of the file; a query for which nothing was returned is not asked about."""
    context: list[Span] = [
        (chunk.id, chunk.doc_id, chunk.start, chunk.end)
        for chunks in case.chunks
        for chunk in chunks
    ]
    if case.prompt is None or reply is None:
        return StoredAnswer(case.query, "", True, "unasked", [], context, "", 0, 0, 0.0)
    text, numbers, abstained = read_answer(reply.text, len(case.chunks))
    usage = reply.usage
    return StoredAnswer(
        query=case.query,
        answer=text,
        abstained=abstained,
        ending=reply.ending,
        cited=[chunk.id for at in numbers for chunk in case.chunks[at - 1]],
        context=context,
        asked=digest(case.prompt.text),
        prompt_tokens=usage.prompt if usage else None,
        output_tokens=usage.output if usage else None,
        usd=desk.prices.cost(usage) if usage and desk.prices else None,
    )


def _count(rows: Iterator[StoredAnswer]) -> Estimate | None:
    found = [row.abstained for row in rows]
    return estimate_share(sum(found), len(found)) if found else None


def _track(result: Result, progress: Progress) -> str | None:
    """Add the scores to the run's MLflow run; return its id, None where there is none.

    Those of a sample are not added.
    """
    if len(result.answers) < len(result.run.queries):
        return None
    return tracking.attempt(
        lambda: log_answers(result.run, result.means, result.path),
        f"the answers are kept in {result.path}",
        progress,
    )
