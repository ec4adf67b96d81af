"""A study in which a language model makes a judged collection of documents."""

from dataclasses import replace

from assay.eval.collections.authoring.skipped_files import describe_skipped
from assay.eval.llm.costs import foretell
from assay.eval.llm.session import make_session
from assay.eval.running.study import Lab, Preview, Study, Written
from assay.eval.studies.questions.files import check_target, find_target, write_set
from assay.eval.studies.questions.job import SIMILAR, QuestionOptions, prepare_job
from assay.eval.studies.questions.report import REVIEW, describe_job, report, warn
from assay.eval.studies.questions.results import QuestionsResult
from assay.eval.studies.questions.search import TOP, open_search
from assay.eval.studies.questions.selection import QuestionSelection, choose_review, drop_duplicates
from assay.eval.studies.questions.sources import open_documents
from assay.retrievers.base import Chunk

MAX_TOKENS = 1024  # a question of eighty words, and quotes of several sentences


def preview(asked: QuestionOptions, lab: Lab) -> Preview | None:
    """Estimate the cost of asking, without asking or indexing anything."""
    if not asked.dry_run:
        return None
    session = make_session(asked, "questions", MAX_TOKENS, lab.resources, dry_run=True)
    source = open_documents(asked.documents, lab.resources)
    job = prepare_job(asked, source, session)
    stand_ins = [
        Chunk(one.id, one.doc_id, one.start, one.end, one.text) for one in job.pool.passages[:TOP]
    ]
    counted = job.ask(lambda _: stand_ins).count()
    lines = [*describe_skipped(source.skipped), ", ".join(describe_job(job))]
    if warnings := "; ".join(warn(job)):
        lines.append(f"Check first: {warnings}")
    return foretell("questions", counted, job.as_json(), lines)


def find(asked: QuestionOptions, lab: Lab) -> QuestionsResult:
    """Write questions about the documents below FOLDER, or of COLLECTION, with a language model.

    Passages are drawn over all documents and sections. For each the model writes a question, with
    the words that answer it. Questions are dropped and counted if their quotes are not found, if
    they copy or reveal the passage, if the quotes do not answer them, if a model knows the answer
    without them, or if they repeat another. The rest becomes a judged collection. A share of it is
    marked for review by a person: review.csv, for `assay label`.

    Replies are kept: an interrupted run resumes, and nothing is paid for twice. Keys come from
    ANTHROPIC_API_KEY and OPENAI_API_KEY alone.
    """
    session = make_session(asked, "questions", MAX_TOKENS, lab.resources)
    source = open_documents(asked.documents, lab.resources)
    target = find_target(source, asked.name, asked.output)
    check_target(target, asked.force)
    job = prepare_job(asked, source, session)
    documents = list(source.documents.values())
    with open_search(job.config, documents, session.resources) as search:
        asking = job.ask(search.find)
        outcomes = asking.run()
        questions = [outcome.question for outcome in outcomes.values() if outcome.cause is None]
        if questions:
            outcomes = drop_duplicates(outcomes, search.encode(questions), SIMILAR)
        made = QuestionSelection(outcomes, empty=job.empty)
        answered = {
            name: outcome.question
            for name, outcome in made.kept.items()
            if outcome.draw.kind.answered
        }
        gold = {name: made.kept[name].gold for name in answered}
        made = replace(
            made,
            review=choose_review(list(made.kept), asked.review, asked.seed),
            bias=search.measure(answered, gold, lab.progress),
        )
    found = QuestionsResult(job, made, asking.ledger, target)
    return write_set(found, force=asked.force) if made.kept else found


def write(found: QuestionsResult, *_: object) -> Written:
    """Return the card of the collection, if one was written, and the command to review it."""
    if found.card is None:
        return Written({"card": None})
    review = found.target.folder / REVIEW
    return Written({"card": found.card}, next=[f"label {review} --serve --judge NAME"])


STUDY = Study(
    "questions",
    QuestionOptions,
    find,
    report,
    preview=preview,
    write=write,
    status=lambda found: 0 if found.made.kept else 2,
)
