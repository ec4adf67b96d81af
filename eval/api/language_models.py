"""Studies that ask a language model, as functions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Required, TypedDict, Unpack

from assay.eval.report.result import StudyResult
from assay.retrievers.base import AssayError

if TYPE_CHECKING:
    from assay.eval.llm.asked_runs import AskedRuns
    from assay.eval.runs.summary.generated_answers import Answers
    from assay.eval.studies.judging.tables import ModelGrades
    from assay.eval.studies.questions.running import QuestionsResult
    from assay.eval.studies.ragas.results import RagasResult


class AskedModel(TypedDict, total=False):
    """The language model that is asked, as the commands' options have it.

    `prices` are US dollars per million tokens as text: prompt, written to and read from the
    cache, answer. `max_cost_usd` is never exceeded over all calls of the same work. Keys come from
    ANTHROPIC_API_KEY and OPENAI_API_KEY alone.
    """

    provider: Required[Literal["anthropic", "openai"]]
    model: str
    base_url: str
    max_cost_usd: float
    prices: str
    concurrency: int
    max_tokens: int
    thinking_tokens: int
    timeout_seconds: float


def judge(
    pool: str | Path,
    *runs: str,
    collection: str | None = None,
    output: str | Path | None = None,
    queries: int | None = None,
    guidelines: str | Path | None = None,
    highest: int | None = None,
    spans: bool = False,
    twice: float = 0.1,
    measure: str = "nDCG@10",
    seed: int = 0,
    **asked: Unpack[AskedModel],
) -> "StudyResult[ModelGrades]":
    """Let a language model grade a pool, and compare its grades with people's, as `assay judge`.

    Args:
        pool: A table of `assay pool`, or a collection whose judged pairs are graded again.
        runs: Configs or stored runs, which are ranked under either judge.
        collection: What is judged; by default what the table says.
        output: Of a collection: where the table of its judged pairs goes.
        queries: Of a collection: so many queries, drawn by chance; by default all.
        guidelines: A file that says what to grade by; by default the collection's.
        highest: The highest grade that counts; by default the highest given in the collection.
        spans: Whether to ask for the words that answer, too.
        twice: The share of pairs that is graded twice, from 0 to 1.
        measure: What the runs are ranked by.
        seed: Of the order and of draws.
        asked: The language model, as `AskedModel` has it.

    Returns:
        What was found: `.verdict`, `.tables["agreement"]`, with runs `.tables["pairs"]` and
        `.tables["means"]`.

    Raises:
        AssayError: The table, a run or the model is wrong, or no further call can succeed. Grades
            are kept as they come, and the same call goes on.

    Examples:
        >>> from assay import judge
        >>> judge("pool.csv", provider="openai").tables["agreement"]  # doctest: +SKIP

    """
    from assay.eval.configs.resources import make_resources
    from assay.eval.llm.session import make_session
    from assay.eval.studies.judging import running, tables
    from assay.eval.studies.judging.model_grades import warn_of_judge
    from assay.eval.studies.judging.report import report

    resources = make_resources()
    longest = running.MAX_TOKENS_QUOTED if spans else running.MAX_TOKENS
    session = make_session(asked, running.PURPOSE, longest, resources)
    options = {
        "collection": collection,
        "output": Path(output) if output else None,
        "queries": queries,
        "guidelines": Path(guidelines) if guidelines else None,
        "highest": highest,
        "spans": spans,
        "twice": twice,
        "seed": seed,
    }
    table = tables.open_table(str(pool), options, session)
    for line in warn_of_judge(session.model.name, runs):
        resources.progress.say(f"warning: {line}")
    stored = tables.find_runs(table, runs, measure, resources.progress)
    outcome = running.run_job(table.job)
    if outcome.failure:
        raise AssayError(outcome.failure)
    found = tables.examine_grades(table, stored, measure)
    return StudyResult(found, report(found.judge))


def questions(
    documents: str | Path,
    *overrides: str,
    number: int = 100,
    types: Sequence[str] = (),
    personas: str | Path | None = None,
    max_overlap: float = 0.5,
    max_similarity: float = 0.92,
    review: float = 0.1,
    config: str = "hybrid",
    name: str | None = None,
    output: str | Path | None = None,
    force: bool = False,
    seed: int = 0,
    **asked: Unpack[AskedModel],
) -> "StudyResult[QuestionsResult]":
    """Write questions about documents with a language model, as `assay questions` does.

    What passes the tests becomes a judged collection; where nothing does, none is written.

    Args:
        documents: A folder, or a collection.
        overrides: Changes to the config, `key.path=value`.
        number: Questions to ask for; fewer pass the tests.
        types: Types of questions by name, in equal shares; by default all.
        personas: A file that says who asks, and in what situation.
        max_overlap: The share of three-word sequences of the passage from which one is dropped.
        max_similarity: The cosine with an earlier question above which one is dropped.
        review: The share that is marked for a person to look at.
        config: The pipeline by whose legs questions are tested.
        name: What to call the collection; by default after the documents.
        output: Where it goes; by default below `datasets`.
        force: Whether to overwrite a collection that is there already.
        seed: Of the draw.
        asked: The language model, as `AskedModel` has it.

    Returns:
        What was found: `.verdict`, `.tables["types"]`, `.tables["dropped"]`, and each dropped
        question in `.tables["dropped_questions"]`.

    Raises:
        AssayError: The documents, a type or the model is wrong, the collection cannot be written,
            or no further call can succeed. Replies are kept, and the same call goes on.

    Examples:
        >>> from assay import questions
        >>> questions("docs", number=20, provider="openai").tables["types"]  # doctest: +SKIP

    """
    from assay.eval.configs.resources import make_resources
    from assay.eval.llm.session import make_session
    from assay.eval.studies.questions import files, job
    from assay.eval.studies.questions.kinds import choose_kinds
    from assay.eval.studies.questions.personas import read_personas
    from assay.eval.studies.questions.report import report
    from assay.eval.studies.questions.running import write_questions
    from assay.eval.studies.questions.sources import open_documents

    spec = job.QuestionSpec(
        number=number,
        kinds=choose_kinds(types),
        personas=read_personas(Path(personas)) if personas else [],
        seed=seed,
        max_overlap=max_overlap,
        max_similarity=max_similarity,
        review=review,
    )
    resources = make_resources()
    session = make_session(asked, job.PURPOSE, job.MAX_TOKENS, resources)
    source = open_documents(str(documents), resources)
    target = files.find_target(source, name, Path(output) if output else None)
    files.check_target(target, force)
    found = write_questions(job.prepare_job(source.documents, spec, config, overrides, session))
    if found.made.kept:
        files.write_set(target, found, force=force)
    return StudyResult(found, report(found, target.name))


def answer(
    *runs: str,
    context_tokens: int | None = None,
    limit: int | None = None,
    track: bool = True,
    **asked: Unpack[AskedModel],
) -> "StudyResult[AskedRuns[Answers]]":
    """Answer queries with a language model from what runs returned, as `assay answer` does.

    Args:
        runs: Configs or stored runs, and overrides of the configs, `key.path=value`.
        context_tokens: Of passages in a prompt, for runs without a stage `context`.
        limit: So many queries, evenly spaced; by default all.
        track: Whether to add the scores to the runs' records in MLflow.
        asked: The language model, as `AskedModel` has it.

    Returns:
        What was found, by the name of a run: `.tables["hybrid"]` has a row a measure.

    Raises:
        AssayError: A run or the model is wrong, or no further call can succeed. Answers are kept,
            and the same call goes on.

    Examples:
        >>> from assay import answer
        >>> answer("hybrid", provider="openai", max_cost_usd=1).tables["hybrid"]  # doctest: +SKIP

    """
    from assay.eval.configs.resources import make_resources
    from assay.eval.llm.session import make_session
    from assay.eval.running.run_references import resolve_all
    from assay.eval.studies.answers import running
    from assay.eval.studies.answers.prompts import make_task
    from assay.eval.studies.answers.report import report

    resources = make_resources()
    session = make_session(asked, running.PURPOSE, running.MAX_TOKENS, resources)
    stored = resolve_all(runs, resources.progress)
    task = make_task(stored, context_tokens, limit, resources)
    found = running.answer(task, session, resources.progress, track=track)
    return StudyResult(found, report(found))


def ragas(
    *runs: str,
    metrics: Sequence[str] = (),
    k: int = 5,
    answers: bool = False,
    limit: int | None = None,
    track: bool = True,
    asked: AskedModel | None = None,
) -> "StudyResult[AskedRuns[RagasResult]]":
    """Score runs with ragas, each metric beside the nearest measure, as `assay ragas` does.

    Args:
        runs: Configs or stored runs, and overrides of the configs, `key.path=value`.
        metrics: By ragas' names; by default all.
        k: How many hits count.
        answers: Whether the answers of `assay answer` are scored, with the context of each.
        limit: So many queries, evenly spaced; by default all.
        track: Whether to add the scores to the runs' records in MLflow.
        asked: A language model, such as `{"provider": "openai"}`, for the metrics that need one;
            without it none is called.

    Returns:
        What was found, by the name of a run: `.tables["hybrid"]` has a row a metric, and
        `.tables["hybrid_disagreements"]` the queries on which two scores part.

    Raises:
        AssayError: A run, a metric or the model is wrong, the extra `ragas` is missing, or no
            further call can succeed. Replies are kept, and the same call goes on.

    Examples:
        >>> from assay import ragas
        >>> ragas("bm25", "limit=5", track=False).tables["bm25"]  # doctest: +SKIP

    """
    from assay.eval.configs.resources import make_resources
    from assay.eval.running.run_references import resolve_all
    from assay.eval.studies.ragas import running
    from assay.eval.studies.ragas.metrics import choose
    from assay.eval.studies.ragas.report import report

    chosen = choose(metrics, judge=bool(asked), answers=answers)
    resources = make_resources()
    session = running.make_session(asked or {}, resources, dry_run=False)
    stored = resolve_all(runs, resources.progress)
    task = running.make_task(stored, chosen, None if answers else k, limit)
    found = running.score(task, session, resources.progress, track=track)
    return StudyResult(found, report(found))
