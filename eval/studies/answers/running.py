"""`assay answer`: a language model answers each query of stored runs from what these returned."""

from collections.abc import Mapping, Sequence
from functools import partial

from assay.eval.llm.asked_runs import AskedRuns
from assay.eval.llm.job import Ask, Asking, Forecast
from assay.eval.llm.session import DryRun, LlmSession
from assay.eval.report.run_page.page import PAGE
from assay.eval.running.run import write_report
from assay.eval.runs import generated_answers
from assay.eval.runs.generated_answers import Recipe, Span, StoredAnswer
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.generated_answers import Answers, examine_answers
from assay.eval.studies.answers.prompts import TASK, AnswerTask, Case, read_answer
from assay.eval.tracking.delivery import add_to_run
from assay.eval.tracking.record import metric_name, with_interval
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.store.digest import digest

PURPOSE = "answer"
MAX_TOKENS = 400


def estimate(task: AnswerTask, session: LlmSession) -> Forecast[DryRun]:
    """Return what the task would ask and what that should cost."""
    about = {"runs": task.run_ids, "queries": task.queries}
    return Forecast(f"{task.queries} queries", about, _count(task, session))


def answer(
    task: AnswerTask, session: LlmSession, progress: Progress, *, track: bool
) -> AskedRuns[Answers]:
    """Ask what is not known, and write the answers into the folder of each run.

    What was answered is kept as it comes. Raises AssayError where no further call can succeed.
    """
    results = []
    counted = _count(task, session)
    ledger = session.ledger(sorted(task.run_ids), session.model.identity)
    with session.open(ledger, counted) as asking:
        for run, cases in task.cases:
            replies = _ask_all(cases, asking)
            _tell_replaced(run, len(cases), session, progress)
            results.append(_write(run, cases, replies, task.budgets[run.manifest.id], session))
    tracked = [_track(result, progress) if track else None for result in results]
    return AskedRuns(results, tracked, ledger if counted.to_ask else None)


def _count(task: AnswerTask, session: LlmSession) -> DryRun:
    counted = session.count()
    for _, cases in task.cases:
        _ask_all(cases, Asking(counted.ask))
    return counted


def _ask_all(cases: Sequence[Case], asking: Asking) -> dict[str, KeptAnswer]:
    """Return the answers by query."""
    tasks = {case.query: partial(_ask, case.query, case.prompt) for case in cases if case.prompt}
    try:
        return asking.all(tasks, "answering")
    except TooLongError as error:
        raise AssayError(str(error)) from None


def _ask(query: str, prompt: Prompt, ask: Ask) -> KeptAnswer:
    try:
        return ask(prompt)
    except TooLongError as error:
        raise TooLongError(
            f"query {query}: the context is longer than the model reads; allowed: fewer"
            f" --context-tokens; {error}"
        ) from None


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
    metrics: dict[str, float] = {}
    for name, mean in result.means.items():
        metrics |= with_interval(f"answers/{metric_name(name)}", mean)
    return add_to_run(result.run, metrics, result.path, progress)
