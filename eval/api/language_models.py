"""Studies that ask a language model, as functions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Required, TypedDict, Unpack

from assay.eval.api.studies import ask
from assay.eval.report.result import StudyResult

if TYPE_CHECKING:
    from assay.eval.llm.asked_runs import AskedRuns
    from assay.eval.runs.summary.generated_answers import Answers
    from assay.eval.studies.ingestion.contexts import ContextResult
    from assay.eval.studies.judging.report import JudgedPool
    from assay.eval.studies.questions.results import QuestionsResult
    from assay.eval.studies.ragas.results import RagasResult


class AskedModel(TypedDict, total=False):
    """The language model to ask, as in the options of commands.

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
) -> "StudyResult[JudgedPool]":
    """Let a language model grade a pool, and compare its grades with people's, as `assay judge`.

    Args:
        pool: A table of `assay pool`, or a collection whose judged pairs are graded again.
        runs: Configs or stored runs, which are ranked by the grades of either judge.
        collection: The judged collection; by default the one that the table names.
        output: For a collection: the file for the table of its judged pairs.
        queries: For a collection: the number of queries, drawn at random; by default all.
        guidelines: A file with the rules of grading; by default the collection's.
        highest: The highest grade that counts; by default the highest given in the collection.
        spans: Whether to ask for the words that answer, too.
        twice: The share of pairs that is graded twice, from 0 to 1.
        measure: The measure that ranks the runs.
        seed: The seed of the order and of draws.
        asked: The language model, as `AskedModel` has it.

    Returns:
        The findings: `.verdict`, `.tables["agreement"]`, with runs `.tables["pairs"]` and
        `.tables["means"]`.

    Raises:
        AssayError: The table, a run or the model is wrong, or no further call can succeed. Grades
            are kept as they come, and the same call goes on.

    Examples:
        >>> from assay import judge
        >>> judge("pool.csv", provider="openai").tables["agreement"]  # doctest: +SKIP

    """
    from assay.eval.studies.judging.study import STUDY

    return ask(STUDY, locals())


def questions(
    documents: str | Path,
    *overrides: str,
    number: int = 100,
    types: Sequence[str] = (),
    max_overlap: float = 0.5,
    review: float = 0.1,
    config: str = "hybrid",
    name: str | None = None,
    output: str | Path | None = None,
    force: bool = False,
    seed: int = 0,
    **asked: Unpack[AskedModel],
) -> "StudyResult[QuestionsResult]":
    """Write questions about documents with a language model, as `assay questions` does.

    Questions that pass the tests become a judged collection; none is written if no question passes.

    Args:
        documents: A folder, or a collection.
        overrides: Changes to the config, `key.path=value`.
        number: Questions to ask for; fewer pass the tests.
        types: Types of questions by name, in equal shares; by default all.
        max_overlap: The share of three-word sequences of the passage from which one is dropped.
        review: The share that is marked for a person to look at.
        config: The pipeline by whose legs questions are tested.
        name: The name of the collection; by default after the documents.
        output: The folder to write to; by default below `datasets`.
        force: Whether to overwrite a collection that is there already.
        seed: The seed of the draw.
        asked: The language model, as `AskedModel` has it.

    Returns:
        The findings: `.verdict`, `.tables["types"]`, `.tables["dropped"]`, and each dropped
        question in `.tables["dropped_questions"]`.

    Raises:
        AssayError: The documents, a type or the model is wrong, the collection cannot be written,
            or no further call can succeed. Replies are kept, and the same call goes on.

    Examples:
        >>> from assay import questions
        >>> questions("docs", number=20, provider="openai").tables["types"]  # doctest: +SKIP

    """
    from assay.eval.studies.questions.study import STUDY

    return ask(STUDY, locals())


def answer(
    *runs: str,
    context_tokens: int | None = None,
    limit: int | None = None,
    **asked: Unpack[AskedModel],
) -> "StudyResult[AskedRuns[Answers]]":
    """Answer queries with a language model from what runs returned, as `assay answer` does.

    Args:
        runs: Configs or stored runs, and overrides of the configs, `key.path=value`.
        context_tokens: Tokens of passages in a prompt, for runs without a stage `context`.
        limit: The number of queries, evenly spaced; by default all.
        asked: The language model, as `AskedModel` has it.

    Returns:
        The findings, by the name of a run: `.tables["hybrid"]` has a row per measure.

    Raises:
        AssayError: A run or the model is wrong, or no further call can succeed. Answers are kept,
            and the same call goes on.

    Examples:
        >>> from assay import answer
        >>> answer("hybrid", provider="openai", max_cost_usd=1).tables["hybrid"]  # doctest: +SKIP

    """
    from assay.eval.studies.answers.study import STUDY

    return ask(STUDY, locals())


def ragas(
    *runs: str,
    metrics: Sequence[str] = (),
    k: int = 5,
    limit: int | None = None,
    asked: AskedModel | None = None,
) -> "StudyResult[AskedRuns[RagasResult]]":
    """Score runs with ragas, each metric next to the nearest measure, as `assay ragas` does.

    Args:
        runs: Configs or stored runs, and overrides of the configs, `key.path=value`.
        metrics: By ragas' names; by default all.
        k: The number of hits that count.
        limit: The number of queries, evenly spaced; by default all.
        asked: A language model, such as `{"provider": "openai"}`, for the metrics that need one;
            without it none is called.

    Returns:
        The findings, by the name of a run: `.tables["hybrid"]` has a row per metric, and
        `.tables["hybrid_disagreements"]` the queries on which two scores differ.

    Raises:
        AssayError: A run, a metric or the model is wrong, the extra `ragas` is missing, or no
            further call can succeed. Replies are kept, and the same call goes on.

    Examples:
        >>> from assay import ragas
        >>> ragas("bm25", "limit=5").tables["bm25"]  # doctest: +SKIP

    """
    from assay.eval.studies.ragas.study import STUDY

    return ask(STUDY, locals())


def contexts(
    collection: str | Path,
    *,
    config: str | Path = "contextual",
    window_tokens: int | None = None,
    output: str | Path | None = None,
    **asked: Unpack[AskedModel],
) -> "StudyResult[ContextResult]":
    """Add context written by a language model to the chunks of a collection, as `assay contexts`.

    Args:
        collection: A collection by its name, or a folder.
        config: The pipeline whose chunks get contexts.
        window_tokens: The longest prompt; by default the model's. Longer documents are shown in
            part.
        output: The file to write or replace; by default where the collection's data lies.
        asked: The language model, as `AskedModel` has it.

    Returns:
        The findings: `.found.path` is the file, and `.tables["without"]` has the chunks that got
        none, if any.

    Raises:
        AssayError: The collection, the config or the model is wrong, the file cannot be written, or
            no further call can succeed. Replies are kept, and the same call goes on.

    Examples:
        >>> from assay import contexts
        >>> contexts("docs", provider="anthropic", max_cost_usd=1).verdict  # doctest: +SKIP

    """
    from assay.eval.studies.ingestion.contexts import STUDY

    return ask(STUDY, locals())
