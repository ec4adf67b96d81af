"""Studies that ask a language model, as functions."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, Required, TypedDict, Unpack

from assay.eval.report.result import StudyResult
from assay.retrievers.base import AssayError

if TYPE_CHECKING:
    from assay.eval.studies.judging.tables import ModelGrades


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
