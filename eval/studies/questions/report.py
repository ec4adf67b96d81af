"""The report of written questions: the number kept, the dropped ones, and the search favoured."""

from collections.abc import Iterator
from operator import itemgetter

from assay.eval.collections.authoring.skipped_files import describe_skipped
from assay.eval.collections.groups import count_independent
from assay.eval.collections.traits import describe_overlap
from assay.eval.llm.costs import account
from assay.eval.report.blocks import Block, Column, Facts, Report, Table
from assay.eval.report.formats import count, percent, score, signed
from assay.eval.studies.comparison.differences import foretell
from assay.eval.studies.questions.asking import MEANING
from assay.eval.studies.questions.job import SIMILAR, QuestionJob
from assay.eval.studies.questions.results import QuestionsResult
from assay.eval.studies.questions.selection import Bias, QuestionSelection
from assay.eval.studies.questions.words import MOST_SHARED

REVIEW = "review.csv"
NAMED = 20  # dropped questions shown of each cause
OVERLAP = "Overlap is the share of a question's three-word sequences that are in its passage."
KINDS = (
    Column("type", "Type", value=itemgetter(0)),
    Column("asked", "Asked for", "count", itemgetter(1)),
    Column("kept", "Kept", "count", itemgetter(2)),
    Column("overlap", "Median overlap", "score", itemgetter(3)),
)
CAUSES = (
    Column("cause", "Dropped", value=itemgetter(0)),
    Column("questions", "Questions", "count", itemgetter(1)),
    Column("meaning", "Because", value=lambda row: MEANING[row[0]]),
)
DROPPED = (
    Column("id", "Id", value=itemgetter(0)),
    Column("cause", "Cause", value=lambda row: row[1].cause),
    Column("type", "Type", value=lambda row: row[1].draw.kind.name),
    Column("question", "Question", value=lambda row: row[1].question),
    Column("detail", "More", value=lambda row: row[1].detail),
)


def report(found: QuestionsResult) -> Report:
    """Return the report of written questions."""
    job, made = found.job, found.made
    kept = f"{count(len(made.kept), 'question')} kept, {len(made.review)} marked for a person"
    verdict = ["no question passed the tests; nothing is written"]
    if made.kept:
        verdict = [
            kept,
            describe_bias(made),
            foretell(len(made.kept), count_independent(made.groups)),
        ]
    return Report(
        id="",
        kind="questions",
        title=f"Questions of {found.target.name}",
        subject=describe_job(job),
        verdict=verdict,
        warnings=[*describe_skipped(found.target.source.skipped), *warn(job)],
        blocks=[
            *_show_kinds(made),
            *_show_dropped(job, made),
            _show_request(job),
            *account(found.ledger),
        ],
        description=_describe_set(found) if made.kept else "",
    )


def _describe_set(found: QuestionsResult) -> str:
    """Return a description of how a set was written and tested."""
    job, made = found.job, found.made
    kinds = ", ".join(f"{name} {kept}" for name, (_, kept) in made.count_kinds().items() if kept)
    return (
        f"{len(made.kept)} questions written on {found.written_on} by a language model, "
        f"{job.session.model.name}, about passages drawn from {len(job.source.documents)} "
        f"documents (seed {job.asked.seed}), and tested by the same model: of "
        f"{len(made.outcomes)} asked for the others were dropped. When this was written a person "
        f"had seen none of them; "
        f"{len(made.review)} are marked for one in {REVIEW}. By type: {kinds}."
    )


def describe_job(job: QuestionJob) -> tuple[str, ...]:
    """Return the numbers of documents, of passages to ask about, and of draws."""
    pool = job.pool
    return (
        count(len(job.source.documents), "document"),
        f"{count(len(pool.passages), 'passage')} to ask about ({pool.short} say too little)",
        f"{len(job.draws)} drawn",
    )


def warn(job: QuestionJob) -> Iterator[str]:
    """Yield the warnings of a job."""
    if job.empty:
        yield f"no passage suits: {', '.join(job.empty)}"
    yield from job.warnings


def _show_kinds(made: QuestionSelection) -> Iterator[Block]:
    overlaps = made.find_overlaps()
    rows = [(kind, *counts, overlaps.get(kind)) for kind, counts in made.count_kinds().items()]
    yield Table("types", "By type", KINDS, rows, OVERLAP)


def _show_dropped(job: QuestionJob, made: QuestionSelection) -> Iterator[Block]:
    """Yield the number of questions that each test dropped, and the first of each."""
    causes = {cause: number for cause, number in made.count_causes().items() if number}
    if not causes:
        return
    note = (
        f"In the order of the tests. Overlap above {job.asked.max_overlap} and a cosine above "
        f"{SIMILAR} drop a question. {count(made.asked_again, 'question')} with more than "
        f"{percent(MOST_SHARED)} of their words from the passage were asked for again."
    )
    yield Table("dropped", "What was dropped", CAUSES, [*causes.items()], note)
    rows = [
        item
        for cause in causes
        for item in [one for one in made.outcomes.items() if one[1].cause == cause][:NAMED]
    ]
    note = f"The first {NAMED} of each cause."
    yield Table("dropped_questions", "Dropped questions", DROPPED, rows, note, brief=False)


def _show_request(job: QuestionJob) -> Facts:
    pairs = [
        ("Questions", f"{job.asked.number:,}"),
        ("Types", ", ".join(kind.name for kind in job.kinds)),
        ("Seed", str(job.asked.seed)),
        ("Model", job.session.model.name),
        ("Tested by the legs of", job.config.name),
    ]
    return Facts("Asked for", pairs, brief=False)


def name_favoured(bias: Bias | None) -> str:
    """Return the search that a set favours, with its figures; "" if the interval includes 0."""
    if bias is None or bias.advantage.low <= 0 <= bias.advantage.high:
        return ""
    rates = {"keyword": score(bias.keyword.value), "dense": score(bias.dense.value)}
    better, worse = rates if bias.advantage.value > 0 else reversed(rates)
    return f"{better} search (Hit@10 {rates[better]} alone, {worse} search {rates[worse]})"


def describe_bias(made: QuestionSelection) -> str:
    """Describe which search the set may favour, in sentences. A question must have been kept."""
    overlap = (
        f"At the median {percent(made.find_overlaps()[''])} of a question's three-word sequences "
        f"are in its passage. {describe_overlap(made.shared_words)}"
    ).strip()
    if made.bias is None:
        return (
            f"{overlap} No question has an answer, so keyword and dense search were not compared."
        )
    bias = made.bias
    change = bias.advantage
    return (
        f"{overlap} Keyword search alone has Hit@10 {score(bias.keyword.value)}, dense search "
        f"alone {score(bias.dense.value)}: a difference of {signed(change.value)} (95 % interval "
        f"{signed(change.low)} … {signed(change.high)})."
    )
