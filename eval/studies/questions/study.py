"""A study in which a language model makes a judged collection of documents."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.eval.collections.authoring import author
from assay.eval.collections.authoring.skipped_files import describe_skipped
from assay.eval.collections.authoring.worksheet import Pair, render
from assay.eval.collections.card import FILE
from assay.eval.collections.catalog import read_card
from assay.eval.collections.digests import seal
from assay.eval.collections.formats.rows import render_rows
from assay.eval.llm.costs import Foretold, foretell
from assay.eval.llm.session import make_session
from assay.eval.report.renderers import markdown
from assay.eval.running.study import Lab, Preview, Study, Written
from assay.eval.runs.files import encode_json
from assay.eval.runs.json_form import to_json
from assay.eval.studies.questions.asking import DrawOutcome
from assay.eval.studies.questions.job import SIMILAR, QuestionJob, QuestionOptions, prepare_job
from assay.eval.studies.questions.prompts import digest_prompts
from assay.eval.studies.questions.report import (
    REVIEW,
    describe_bias,
    describe_job,
    name_favoured,
    report,
    warn,
)
from assay.eval.studies.questions.results import QuestionsResult, Target
from assay.eval.studies.questions.search import TOP, open_search
from assay.eval.studies.questions.selection import QuestionSelection, choose_review, drop_duplicates
from assay.eval.studies.questions.sources import QuestionSource, open_documents
from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.store.locks import changing

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
    return foretell("questions", counted, job, lines)


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
    previewed={"...": (Foretold, QuestionJob)},
    write=write,
    places=("card",),
    status=lambda found: 0 if found.made.kept else 2,
)


JSON, MARKDOWN = "questions.json", "questions.md"
FILES = (author.QUERIES, author.JUDGMENTS, REVIEW, JSON, MARKDOWN, author.PIPELINE, FILE)


def find_target(source: QuestionSource, name: str | None, output: Path | None) -> Target:
    """Return the target of questions about `source`.

    If a card there cannot refer to the documents, the collection gets copies of them.
    """
    name = name or (author.slug(output.resolve().name) if output else f"{source.name}-questions")
    folder = author.find_target(source.origin.folder, name, output)
    origin = source.origin.for_target(folder, source.documents)
    return Target(replace(source, origin=origin), name, folder)


def check_target(target: Target, force: bool) -> None:
    """Raise AssayError if the collection cannot be written to `target`.

    That is so if the folder cannot be written, if existing files would be overwritten without
    `force`, if the collection would lie among the documents, so that its report would be one of
    them, or if no card can have its name.
    """
    there = next(place for place in (target.folder, *target.folder.parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise AssayError(f"{target.folder}: cannot be written; say --output with a folder of yours")
    source = target.source
    if target.folder.resolve().is_relative_to(source.origin.folder.resolve()):
        raise AssayError(
            f"{target.folder}: lies among the documents, and the report would be one of them; say "
            "--output with a folder outside them"
        )
    author.describe(source.origin, target.name, target.folder, source.documents, "")
    author.check_target(source.origin, target.folder, FILES, force)


def write_set(found: QuestionsResult, *, force: bool) -> QuestionsResult:
    """Write and seal the collection; return the result with its card. Raises as `check_target`."""
    target, job, made = found.target, found.job, found.made
    source, name, folder = target.source, target.name, target.folder
    by = f"model {job.session.model.name}, prompt {digest_prompts()}"
    judgments = [
        _judgment(outcome, i, source.documents[item.doc_id].text, by, found.written_on)
        for outcome in made.kept.values()
        for i, item in enumerate(outcome.gold)
    ]
    told = report(replace(found, ledger=CostLedger()))  # equal results give equal reports
    about = f"{told.description} {describe_bias(made)}"
    questions = f"questions by {job.session.model.name}"
    files = {
        author.QUERIES: render_rows([_query(name, made) for name in made.kept]),
        author.JUDGMENTS: render_rows(judgments),
        REVIEW: _render_review(source, made, author.refer_to(name, folder)),
        JSON: encode_json(to_json(found)).decode(),
        MARKDOWN: markdown.render(told),
        **author.describe(source.origin, name, folder, source.documents, questions, about),
    }
    if favours := name_favoured(made.bias):
        files[FILE] += f"favours: {json.dumps(favours, ensure_ascii=False)}\n"
    with changing(folder):
        check_target(target, force)  # checked again, because asking took time
        author.write_files(source.origin, folder, files)
        seal(read_card(folder / FILE))
    return replace(found, card=folder / FILE)


def _query(name: str, made: QuestionSelection) -> dict[str, Any]:
    outcome = made.outcomes[name]
    about: dict[str, Any] = {
        "passages": [[one.doc_id, one.start, one.end] for one in outcome.draw.passages],
        "overlap": round(outcome.overlap, 3),
        "review": name in made.review,
    }
    row = {"_id": name, "text": outcome.question, "type": outcome.draw.kind.name}
    return row | {"metadata": about}


def _judgment(outcome: DrawOutcome, i: int, text: str, by: str, written_on: str) -> dict[str, Any]:
    item = outcome.gold[i]
    return {
        "query_id": item.query_id,
        "path": item.doc_id,
        "start": item.start,
        "end": item.end,
        "text": text[item.start : item.end],
        "grade": item.grade,
        "judged_by": by,
        "judged_on": written_on,
    }


def _render_review(source: QuestionSource, made: QuestionSelection, reference: str) -> str:
    """Return the table of the questions marked for a person, for `assay label`."""
    pairs = [
        Pair(
            name,
            outcome.question,
            outcome.draw.kind.name,
            item.doc_id,
            source.documents[item.doc_id].title,
            item.start,
            item.end,
            source.documents[item.doc_id].text[item.start : item.end],
        )
        for name, outcome in made.kept.items()
        if name in made.review
        for item in outcome.gold
    ]
    return render(pairs, reference).decode()
