"""Documents as git has them at a revision, for judgments that do not keep their text."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.eval.collections.card import Card
from assay.eval.collections.formats.native import NativeCard, NativeSource
from assay.eval.collections.formats.places import find_section
from assay.eval.collections.formats.rows import RowError
from assay.eval.collections.history.revisions import extract, find_commit
from assay.eval.collections.living.records import Record
from assay.eval.collections.living.selectors import CONTEXT, list_headings, sketch
from assay.eval.collections.location import find_data, find_repository
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, Document, Progress


def read_past(card: Card, revision: str, progress: Progress) -> Mapping[str, Document]:
    """Return the documents of a collection as they were at a git revision.

    Raises AssayError where its documents lie in no repository, or there is no such revision.
    """
    assert isinstance(card, NativeCard)
    folder = (find_data(card) / card.documents).resolve()
    repository = find_repository(folder)
    if repository is None:
        raise AssayError(f"--since: {folder} lies in no git repository")
    try:
        commit = find_commit(folder, revision)
    except AssayError as error:
        raise AssayError(
            f"--since {revision}: not a revision that {repository} has: {error}; where its history "
            "was rewritten, name a commit of the new one"
        ) from None
    place = folder.relative_to(repository).as_posix()
    with TemporaryDirectory(prefix="assay-since-") as target:
        extract(repository, commit, Path(target), (place,) if place != "." else ())
        then = NativeCard(name="past", title="", format="native", documents=place)
        problems = Problems(strict=True, progress=progress)
        found = NativeSource(then, Path(target), problems).documents()
        return {name: found[name] for name in found}  # read before the folder goes


def restore_texts(records: Sequence[Record], past: Mapping[str, Document]) -> None:
    """Give each judgment that keeps no text the one that its document had at its place."""
    for record in records:
        anchor, document = record.anchor, past.get(record.anchor.path)
        if document is None or anchor.exact or anchor.lines:
            continue
        text = document.text
        if anchor.is_document:
            record.anchor = replace(anchor, lines=tuple(sketch(text)))
            continue
        start, end = anchor.start, anchor.end
        if anchor.section:
            try:
                start, end = find_section(anchor.section, document)
            except RowError:
                continue
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        end = start + len(piece.strip())
        record.anchor = replace(
            anchor,
            start=start,
            end=end,
            exact=piece.strip(),
            prefix=text[max(start - CONTEXT, 0) : start],
            suffix=text[end : end + CONTEXT],
            headings=tuple(list_headings(anchor.path, text, start)),
        )
