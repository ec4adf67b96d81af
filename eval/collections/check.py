"""Checking a collection: all of its problems, at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.eval.collections.answer_spans import describe_unsearched, find_answer_end, is_unsearched
from assay.eval.collections.card import Card, Sizes
from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.digests import measure_digest, measure_sizes
from assay.eval.collections.formats.source import GoldBook, Register, Source
from assay.eval.collections.groups import describe_groups, find_groups
from assay.eval.collections.judgment_source import describe_models
from assay.eval.collections.loading import open_source
from assay.eval.collections.permissions import find_faults, keep_allowed
from assay.eval.collections.problems import QUIET, Problem, Problems
from assay.eval.collections.unwanted import find_unwanted
from assay.retrievers.base import AssayError, Document, Progress
from assay.retrievers.base.scripts import CODES, describe_unspaced, find_unspaced

NO_ANSWER = "no_answer"  # the type of queries that nothing in the collection answers
MEND = "; if that is meant, `assay dataset sync` or `assay dataset seal` writes it"


def check_judged(collection: Collection) -> None:
    """Raise AssayError, saying what to do next, where no query has anything to be found.

    Queries that are meant to have no answer need no relevant judgment.
    """
    name = collection.name
    if not collection.queries:
        raise AssayError(
            f"{name}: no query is judged, so nothing can be measured; `assay label POOL` adds the "
            "grades of a pool, `assay init FOLDER --questions FILE --force` makes queries of a "
            f"table of questions and quotes, and `assay dataset check {name}` says what it lacks"
        )
    relevant = any(item.grade > 0 for items in collection.gold.values() for item in items)
    if not relevant and any(query.type != NO_ANSWER for query in collection.queries):
        raise AssayError(
            f"{name}: none of its {len(collection.queries)} judged queries has a relevant judgment "
            "(a grade of 1 or more), so every score would be 0; add some to its judgments, or "
            f"give queries without an answer the type {NO_ANSWER}"
        )


def check(
    card: Card, progress: Progress = QUIET, spans: bool = True, judged: bool = True
) -> list[Problem]:
    """Return every problem of the card and of all its data, by file and line.

    With `spans`, relevant spans that are a heading alone are looked for, too; with `judged`, it is
    a problem if no judgment allows a measurement.

    An error keeps the collection, or a variant of its judgments, from loading, or means that the
    data differs from the card; a warning is something to look at; a note is as it was meant. They
    come in the order of reading, documents first, then queries, then judgments, so that a cause
    comes before its effects.
    """
    problems = Problems(strict=False, progress=progress)
    place = card.path or Path(card.name)
    if card.path and card.path.parent.name != card.name:
        problems.warn(place, 0, f'name: "{card.name}" is not the name of the card\'s folder')
    try:
        source = open_source(card, problems)
        _check_content(card, source, place, problems, spans, judged)
        _check_digests(card, place, problems)
    except AssayError as error:
        problems.error(place, 0, str(error))
    return list(dict.fromkeys(problems.found))


def _check_content(
    card: Card, source: Source[Any], place: Path, problems: Problems, spans: bool, judged: bool
) -> None:
    documents = source.documents()
    queries = source.queries()
    books = {variant: source.gold(variant, documents, queries.items) for variant in card.variants}
    legible = not problems.broken
    for variant, book in books.items():
        if judged and legible and queries.items and not _can_measure(book, queries.items):
            message = (
                "has no relevant judgment (a grade of 1 or more), so nothing can be measured; "
                "`assay label POOL` adds judgments"
            )
            problems.error(place, 0, f'judgments: "{variant}" {message}')
        _check_grades(book, queries.items, problems)
        if spans:
            _check_spans(book, documents, problems)
        _check_judges(card, book, problems)
    if card.by_model:
        by = f"judged_by: a model gave the grades that name nobody ({card.judged_by})"
        problems.note(place, by)
    known = set().union(*(book.items for book in books.values()))
    for name, row in queries.rows.items():
        # If no query is judged, that has been reported, or its cause.
        if known and name not in known:
            problems.warn(row.file, row.line, f'query "{name}" has no judgment')
    if legible:
        _check_groups(card, books[card.variants[0]], queries.items, place, problems)
    if unsearched := describe_unsearched(documents.values()):
        problems.note(place, unsearched)
    _check_language(card, documents, place, problems)
    _check_permissions(card, documents, queries, books, problems)
    _check_unwanted(card, documents, place, problems)
    if card.sizes is not None and legible:
        first = [  # as a sealed card counts them
            keep_allowed(card, queries.items[name], items.values(), documents)
            for name, items in books[card.variants[0]].items.items()
            if name in queries.items
        ]
        actual = measure_sizes(documents.values(), first)
        _check_sizes(card.sizes, actual, place, problems)


def _check_unwanted(
    card: Card, documents: Mapping[str, Document], place: Path, problems: Problems
) -> None:
    """Report unwanted documents that there are not."""
    try:
        find_unwanted(card, documents.values())
    except AssayError as error:
        problems.error(place, 0, str(error).removeprefix(f"{place}: "))


def _check_permissions(
    card: Card,
    documents: Mapping[str, Document],
    queries: Register[Query],
    books: Mapping[str, GoldBook],
    problems: Problems,
) -> None:
    """Report metadata that differs from the card, and queries that may find no answer."""
    place = card.path or Path(card.name)
    for message, wrong in find_faults(card, documents.values()) if card.fields else ():
        (problems.error if wrong else problems.warn)(place, 0, message)
    for book in books.values():
        for name, items in book.items.items():
            if any(item.grade > 0 for item in items.values()) and not any(
                item.grade > 0
                for item in keep_allowed(card, queries.items[name], items.values(), documents)
            ):
                row = queries.rows[name]
                message = f'query "{name}" may find none of its answers; it scores 0 always'
                problems.warn(row.file, row.line, message)


def _check_grades(book: GoldBook, queries: Mapping[str, Query], problems: Problems) -> None:
    for name, items in book.items.items():
        if queries[name].type == NO_ANSWER:
            if any(item.grade > 1 for item in items.values()):
                row = book.rows[name]
                message = f'query "{name}" has the type {NO_ANSWER} and an answer'
                problems.warn(row.file, row.line, message)
        elif all(item.grade <= 0 for item in items.values()):
            row = book.rows[name]
            message = f'query "{name}" has no judgment of a positive grade; it scores 0 always'
            problems.warn(row.file, row.line, message)


def _check_groups(
    card: Card, book: GoldBook, queries: Mapping[str, Query], place: Path, problems: Problems
) -> None:
    """Report the number of independent questions that those of the first variant count as."""
    gold = {name: tuple(items.values()) for name, items in book.items.items() if name in queries}
    groups = find_groups([queries[name] for name in gold], gold, card.known_copies)
    if shared := describe_groups(groups.values()):
        problems.note(place, shared)


def _check_spans(book: GoldBook, documents: Mapping[str, Document], problems: Problems) -> None:
    for item, row in sorted(book.spans.values(), key=lambda found: found[0].doc_id):
        if item.grade <= 0:
            continue
        document = documents[item.doc_id]
        if is_unsearched(document, item.start, item.end):
            problems.error(
                row.file,
                row.line,
                f'query "{item.query_id}": the relevant span {item.start} to {item.end} of '
                f'"{item.doc_id}" lies in its frontmatter, which is not searched; judge text below '
                "it, or remove the judgment",
            )
        end = find_answer_end(document, item.start, item.end)
        if end is not None:
            problems.error(
                row.file,
                row.line,
                f'query "{item.query_id}": the relevant span {item.start} to {item.end} of '
                f'"{item.doc_id}" is a heading alone, so the text below it does not count as an '
                f"answer; extend the span to {end}, where that text ends, or remove it",
            )


def _can_measure(book: GoldBook, queries: Mapping[str, Query]) -> bool:
    """Return True if anything is relevant, or all judged queries are meant to have no answer."""
    relevant = any(item.grade > 0 for items in book.items.values() for item in items.values())
    unanswered = book.items and all(queries[name].type == NO_ANSWER for name in book.items)
    return bool(relevant or unanswered)


def _check_judges(card: Card, book: GoldBook, problems: Problems) -> None:
    """Warn of grades by a model, unless all grades are by the model that the card names."""
    judged = [items.values() for items in book.items.values()]
    if card.by_model and all(it.judged_by == card.judged_by for items in judged for it in items):
        return
    if share := describe_models(judged, "judgments"):
        problems.warn(next(iter(book.rows.values())).file, 0, share)


def _check_language(
    card: Card, documents: Mapping[str, Document], place: Path, problems: Problems
) -> None:
    found = find_unspaced(document.text for document in documents.values())
    if found and card.language not in [CODES[name] for name in found]:
        best = next(iter(found))
        problems.warn(
            place,
            0,
            f"language: the card says {card.language}, and of the letters in the documents "
            f"{describe_unspaced(found)} ({CODES[best]}); a keyword leg finds such words with "
            f"analyzer: {best}",
        )


def _check_sizes(stated: Sizes, actual: Sizes, place: Path, problems: Problems) -> None:
    for key in sorted(stated.model_fields_set):
        said, is_now = getattr(stated, key), getattr(actual, key)
        if said != is_now:
            problems.error(place, 0, f"sizes.{key}: the card says {said}, there are {is_now}{MEND}")


def _check_digests(card: Card, place: Path, problems: Problems) -> None:
    legible = not problems.broken
    for name, stated in card.digests.items():
        try:
            actual = measure_digest(card, name)
        except AssayError as error:
            if legible:  # otherwise it has been reported
                problems.error(place, 0, f"digests.{name}: {error}")
            continue
        if actual != stated:
            problems.error(place, 0, f"digests.{name}: its SHA-256 is now {actual}{MEND}")
