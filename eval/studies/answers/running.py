"""`assay answer`: a language model answers each query of stored runs from what these returned."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from threading import Event

from assay.eval import tracking
from assay.eval.llm.session import LlmSession
from assay.eval.report.run_page.page import PAGE
from assay.eval.running.run import write_report
from assay.eval.runs import generated_answers
from assay.eval.runs.generated_answers import Recipe, Span, StoredAnswer
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.generated_answers import Answers, examine_answers
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.answers.prompts import TASK, AnswerTask, Case, read_answer
from assay.eval.studies.answers.results import AnswersOutcome, CostEstimate
from assay.eval.tracking.additions import add_to_run
from assay.eval.tracking.record import metric_name, with_interval
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.language_models.client import LanguageModelClient
from assay.retrievers.language_models.estimates import DryRun
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.store.digest import digest

PURPOSE = "answer"
MAX_TOKENS = 400
# An answer of the usual form and length.
EXAMPLE = (
    "Within thirty days, in writing, to the office that issued the permit [1]. A late filing is"
    " accepted only where the delay was not the filer's fault [3]."
)


def estimate(task: AnswerTask, session: LlmSession) -> CostEstimate:
    """Return what the task would ask and what that should cost."""
    counted = DryRun(session.model, session.prices, session.library)
    for _, cases in task.cases:
        for case in cases:
            if case.prompt:
                counted.ask(case.prompt, EXAMPLE)
    return CostEstimate(task, counted)


def answer(
    task: AnswerTask, session: LlmSession, progress: Progress, *, track: bool
) -> AnswersOutcome:
    """Ask what is not known, and write the answers into the folder of each run.

    What was answered is kept as it comes. Raises AssayError where no further call can succeed.
    """
    results = []
    ledger: CostLedger | None = None
    with ExitStack() as stack:
        ask: Callable[[Prompt], KeptAnswer]
        counted = estimate(task, session).counted
        if counted.to_ask:
            ledger = stack.enter_context(session.ledger(PURPOSE, task.runs))
            model = stack.enter_context(session.model)
            client = LanguageModelClient(model, ledger, session.settings, session.library)
            ask = stack.enter_context(client).ask
        else:
            ask = lambda prompt: counted.ask(prompt, EXAMPLE)  # noqa: E731 - all are known
        for run, cases in task.cases:
            replies = _ask_all(cases, ask, session.settings.concurrency if ledger else 1, progress)
            _tell_replaced(run, len(cases), session, progress)
            results.append(_write(run, cases, replies, task.budgets[run.manifest.id], session))
    tracked = [_track(result, progress) if track else None for result in results]
    return AnswersOutcome(results, tracked, ledger)


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


def _tell_replaced(run: StoredRun, queries: int, session: LlmSession, progress: Progress) -> None:
    """Say which answers are replaced, where they are another model's or of more queries."""
    try:
        before = generated_answers.read(run.folder)
    except AssayError:  # of a version that wrote them in another way
        return
    if before and (
        before.recipe.identity != session.model.identity or len(before.answers) > queries
    ):
        progress.say(
            f"replaced: {run.folder / generated_answers.FILE} had {len(before.answers)} answers by "
            f"{before.recipe.model}; the same call of that model gives them again from what is kept"
        )


def _write(
    run: StoredRun,
    cases: Sequence[Case],
    replies: Mapping[str, KeptAnswer],
    budget: int | None,
    session: LlmSession,
) -> Answers:
    """Write the answers, and the run's report anew, which shows them."""
    recipe = Recipe(session.model.name, session.model.identity, digest(TASK), budget)
    generated_answers.write(
        run.folder, recipe, [_describe(case, replies.get(case.query), session) for case in cases]
    )
    if (run.folder / PAGE).exists():
        write_report(run)
    found = examine_answers(run)
    assert found is not None
    return found


def _describe(case: Case, reply: KeptAnswer | None, session: LlmSession) -> StoredAnswer:
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
        cited=[chunk.id for i in numbers for chunk in case.chunks[i - 1]],
        context=context,
        asked=digest(case.prompt.text),
        prompt_tokens=usage.prompt if usage else None,
        output_tokens=usage.output if usage else None,
        usd=session.prices.cost(usage) if usage and session.prices else None,
    )


def _track(result: Answers, progress: Progress) -> str | None:
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


def log_answers(run: StoredRun, means: Mapping[str, Estimate], file: Path) -> str | None:
    """Add the means and `file` to the MLflow run of `run`; return its id, None where there is none.

    Raises TrackingError.
    """
    metrics: dict[str, float] = {}
    for name, mean in means.items():
        metrics |= with_interval(f"answers/{metric_name(name)}", mean)
    return add_to_run(run, metrics, file)
