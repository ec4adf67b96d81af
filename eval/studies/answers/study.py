"""`assay answer`: a language model answers each query of stored runs from the hits returned."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path

from pydantic import Field

from assay.eval.llm.asked_runs import AskedRuns, write
from assay.eval.llm.asked_runs import log as log_runs
from assay.eval.llm.costs import Foretold, foretell
from assay.eval.llm.fences import FENCES, fence
from assay.eval.llm.job import Ask, LlmJob
from assay.eval.llm.session import make_session
from assay.eval.report.blocks import Column, Plot, Prose, Report, Table
from assay.eval.report.formats import count
from assay.eval.running.run import write_report
from assay.eval.running.study import Lab, Preview, Study
from assay.eval.running.study_options import (
    LARGEST,
    LIMIT_HELP,
    AskedModelOptions,
    RunsOptions,
)
from assay.eval.runs import generated_answers
from assay.eval.runs.execution.searching import sample
from assay.eval.runs.files import PAGE
from assay.eval.runs.generated_answers import Recipe, Span, StoredAnswer
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.generated_answers import Answers, examine_answers
from assay.eval.runs.summary.labels import label_runs
from assay.eval.tracking.record import metric_name, with_interval
from assay.retrievers.base import AssayError, Chunk, Hit
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.settings import Resources
from assay.retrievers.stages.context import ContextSettings, assemble_marked
from assay.retrievers.store.digest import digest

MAX_TOKENS = 400
Job = LlmJob[tuple[str, str], KeptAnswer]  # by the id of a run and the id of a query


class AnswerOptions(AskedModelOptions, RunsOptions):
    """The runs to answer from, the model that answers, and the limits of its cost."""

    context_tokens: int | None = Field(
        None,
        ge=1,
        le=LARGEST,
        description="Of passages in a prompt, for runs without a stage `context`.  [default: 4500]",
    )
    limit: int | None = Field(None, ge=1, le=LARGEST, description=LIMIT_HELP)


def preview(asked: AnswerOptions, lab: Lab) -> Preview | None:
    """Return the expected cost of answering; None unless a dry run is asked for."""
    if not asked.dry_run:
        return None
    cases, job = _prepare(asked, lab)
    queries = sum(len(each.cases) for each in cases)
    about = {"runs": [each.run.manifest.id for each in cases], "queries": queries}
    return foretell(f"{queries} queries", job.count(), about)


def find(asked: AnswerOptions, lab: Lab) -> AskedRuns[Answers]:
    """Answer every query with a language model, from what runs returned, and score the answers.

    Each is a config (run where no equal run is stored; overrides apply to every config), the id of
    a run, the beginning of one, or its folder. Answers are kept in `answers.jsonl` in the run's
    folder: nothing is paid for twice, and an interrupted command resumes. `assay compare` and the
    gate then have measures of them: AnswerF1, AnswerEM, QuoteShare, CitationP, CitationR, ContextP,
    ContextR, Abstention. Keys come from ANTHROPIC_API_KEY and OPENAI_API_KEY alone.
    """
    cases, job = _prepare(asked, lab)
    replies = job.run()
    return AskedRuns([_write(each, replies, job, lab) for each in cases], job.ledger)


NOTHING = "NO ANSWER"
# An answer of the usual form and length.
EXAMPLE = (
    "Within thirty days, in writing, to the office that issued the permit [1]. A late filing is"
    " accepted only where the delay was not the filer's fault [3]."
)
TASK = (
    f"{FENCES}\n\nAnswer the question from the numbered passages between the marks alone. Be as"
    " brief as the question allows. After each statement name in square brackets the passages that"
    " bear it, as in [2] or [1][3]. If the passages do not hold the answer, write"
    f" {NOTHING} and nothing else."
)
_NAMED = r"(\d+)(?:\s*[-‐-―]\s*(\d+))?"  # a passage, or the first and the last of several
NAMED = re.compile(_NAMED)
CITED = re.compile(rf"(?<!\s)\s*+\[({_NAMED}(?:\s*[,;]\s*{_NAMED})*)\]")
# Some models give a reason after the words asked for.
ABSTAINED = re.compile(rf"\W*(?:{NOTHING}\b.*|(?i:{NOTHING})\W*)", re.S)


@dataclass(frozen=True, slots=True)
class Case:
    """A query, its prompt, and the chunks of each numbered passage; no prompt without chunks."""

    query: str
    prompt: Prompt | None
    chunks: Sequence[Sequence[Chunk]]


@dataclass(frozen=True, slots=True)
class RunCases:
    """The cases of a run. `budget` is the tokens of a context; None if the run has that stage."""

    run: StoredRun
    cases: Sequence[Case]
    budget: int | None


def make_cases(
    run: StoredRun, context_tokens: int | None, limit: int | None, resources: Resources
) -> RunCases:
    """Return the cases of `limit` evenly spaced queries of a run, or of all queries.

    The context is the hits that the run's stage `context` kept. For a run without that stage, it is
    the best hits within `context_tokens`, or within the default of that stage.
    """
    settings = ContextSettings(type="context")
    if context_tokens is not None:
        settings = settings.model_copy(update={"max_tokens": context_tokens})
    stage = None if _has_context(run) else settings.build(resources)
    queries = sample(tuple(run.queries.values()), limit)
    cases = []
    what = f"contexts of {run.manifest.name}"
    for query in resources.progress.track(queries, what, len(queries)):
        hits: Sequence[Hit] = run.rankings[query.id].hits
        hits = stage.apply(query.text, hits).hits if stage else hits
        context, chunks = assemble_marked(hits)
        asked = f"\n{TASK}\n\nQuestion: {query.text}"
        prompt = Prompt(fence(context), asked, example=EXAMPLE) if chunks else None
        cases.append(Case(query.id, prompt, chunks))
    return RunCases(run, cases, settings.max_tokens if stage else None)


def read_answer(text: str, numbers: int) -> tuple[str, list[int], bool]:
    """Return an answer without citations, the numbers cited, and True if the model abstained.

    Numbers begin at 1. `[1, 3]` and `[1-3]` cite several passages.
    """
    named = (i for found in CITED.finditer(text) for i in _list_named(found[1], numbers))
    cited = list(dict.fromkeys(named))
    bare = CITED.sub("", text).strip()
    abstained = not bare or ABSTAINED.fullmatch(bare) is not None
    return ("" if abstained else bare), ([] if abstained else cited), abstained


def _list_named(text: str, numbers: int) -> Iterator[int]:
    """Yield the numbers that one citation names, within 1 to `numbers`."""
    for first, last in NAMED.findall(text):
        yield from range(max(int(first), 1), min(int(last or first), numbers) + 1)


def _has_context(run: StoredRun) -> bool:
    stages = run.manifest.config.get("retriever", {}).get("stages") or []
    return any(stage.get("type") == "context" for stage in stages)


def _prepare(asked: AnswerOptions, lab: Lab) -> tuple[Sequence[RunCases], Job]:
    """Return the cases of each run, and the job that asks the model."""
    session = make_session(asked, "answer", MAX_TOKENS, lab.resources, dry_run=asked.dry_run)
    runs = lab.run_all(asked.references)
    cases = [make_cases(run, asked.context_tokens, asked.limit, lab.resources) for run in runs]
    tasks = {
        (each.run.manifest.id, case.query): partial(_ask, case.query, case.prompt)
        for each in cases
        for case in each.cases
        if case.prompt
    }
    ids = sorted(each.run.manifest.id for each in cases)
    return cases, LlmJob(session, tasks, "answering", [ids, session.model.identity])


def _ask(query: str, prompt: Prompt, ask: Ask) -> KeptAnswer:
    try:
        return ask(prompt)
    except TooLongError as error:
        raise AssayError(
            f"query {query}: the context is longer than the model reads; allowed: fewer"
            f" --context-tokens; {error}"
        ) from None


def _write(
    asked: RunCases, replies: Mapping[tuple[str, str], KeptAnswer], job: Job, lab: Lab
) -> Answers:
    """Write the answers into the folder of their run, and rewrite the report that shows them."""
    run, session = asked.run, job.session
    try:
        before = generated_answers.read(run.folder)
    except AssayError:  # written by a version with another format
        before = None
    if before and (
        before.recipe.identity != session.model.identity or len(before.answers) > len(asked.cases)
    ):
        lab.progress.say(
            f"replaced: {run.folder / generated_answers.FILE} had {len(before.answers)} answers by "
            f"{before.recipe.model}; the same call of that model gives them again from what is kept"
        )
    recipe = Recipe(session.model.name, session.model.identity, digest(TASK), asked.budget)
    rows = [
        _describe(case, replies.get((run.manifest.id, case.query)), job) for case in asked.cases
    ]
    generated_answers.write(run.folder, recipe, rows)
    if (run.folder / PAGE).exists():
        write_report(run)
    found = examine_answers(run)
    assert found is not None
    return found


def _describe(case: Case, reply: KeptAnswer | None, job: Job) -> StoredAnswer:
    """Return a row of the file; a query without hits is marked as not asked."""
    context: list[Span] = [
        (chunk.id, chunk.doc_id, chunk.start, chunk.end)
        for chunks in case.chunks
        for chunk in chunks
    ]
    if case.prompt is None or reply is None:
        return StoredAnswer(case.query, "", True, "unasked", [], context, "", 0, 0, 0.0)
    text, numbers, abstained = read_answer(reply.text, len(case.chunks))
    usage, prices = reply.usage, job.session.prices
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
        usd=prices.cost(usage) if usage and prices else None,
    )


def _list_metrics(result: Answers) -> dict[str, float]:
    """Return the metrics to add to a run's MLflow run; none for a sample of the queries."""
    metrics: dict[str, float] = {}
    if len(result.answers) == len(result.run.queries):
        for name, mean in result.means.items():
            metrics |= with_interval(f"answers/{metric_name(name)}", mean)
    return metrics


def log(found: AskedRuns[Answers], _files: Sequence[Path], lab: Lab) -> list[str]:
    """Add the scores to the MLflow runs of their runs; return the ids of these."""
    return log_runs(found, _list_metrics, lab)


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


STUDY = Study(
    "answer",
    AnswerOptions,
    find,
    report,
    preview=preview,
    previewed={"...": Foretold, "runs": [str], "queries": int},
    write=write,
    log=log,
    places=(),
    logged="mlflow_runs",
)
