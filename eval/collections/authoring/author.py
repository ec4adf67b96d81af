"""Making a collection of a user's own documents and questions."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.eval.collections.answer_spans import describe_frontmatter
from assay.eval.collections.authoring import copies
from assay.eval.collections.authoring.questions import WrittenQuestions, read_questions
from assay.eval.collections.authoring.span_location import (
    JudgedQuestions,
    UnlocatedQuestion,
    locate,
)
from assay.eval.collections.authoring.templates import CONVERSIONS, card_text, pipeline_text
from assay.eval.collections.card import FILE
from assay.eval.collections.catalog import parse_card, read_card
from assay.eval.collections.digests import seal
from assay.eval.collections.formats.cells import render_table
from assay.eval.collections.formats.native import NativeCard, NativeSource, make_document
from assay.eval.collections.formats.originals import (
    Record,
    record_originals,
    render_records,
)
from assay.eval.collections.formats.reading import read_jsonl
from assay.eval.collections.formats.rows import render_rows
from assay.eval.collections.location import find_data
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, Document
from assay.retrievers.base.scripts import CODES, find_unspaced
from assay.retrievers.documents.conversion.converters import AnyConverter
from assay.retrievers.documents.conversion.folder import FolderContents
from assay.retrievers.settings.trust import may_name
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing

QUERIES, JUDGMENTS = "queries.jsonl", "judgments.jsonl"
UNLOCATED, PIPELINE, PAGES = "unlocated.csv", "pipeline.yaml", "pages.jsonl"


@dataclass(frozen=True, slots=True)
class AuthoredCollection:
    """A collection that was made; `written` is false if no question could be placed.

    `notes` name parts of the documents that are not searched, or may have been meant otherwise.
    `copies` is the folder that has the documents' text, None if they stay in their own folder;
    `followed` is true if changes of the files that they were made of are detected later.
    """

    name: str
    card: Path
    pipeline: Path
    documents: int
    judged: JudgedQuestions
    written: bool = True
    notes: tuple[str, ...] = ()
    copies: Path | None = None
    followed: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Documents below `folder`: its .md and .txt files, which stay there, or else `texts`.

    `texts` are the converted files of other formats, by id, which are written into the collection.
    `pages` are the offsets of their pages, if they have any. `records` describe those files, and
    `converter` reads them.
    `language` is a code of ISO 639-1, "" if it is known only from the script of the texts.
    """

    folder: Path
    texts: Mapping[str, str] | None = None
    language: str = ""
    pages: Mapping[str, Sequence[int]] = field(default_factory=dict)
    records: Sequence[Record] = ()
    converter: AnyConverter | None = None

    @classmethod
    def from_folder(
        cls,
        folder: Path,
        read: FolderContents,
        converter: AnyConverter | None = None,
        left_out: Sequence[str] = (),
    ) -> "Origin":
        """Return the origin of the files `read` in a folder; those `left_out` give no documents."""
        if read.untouched:
            return cls(folder)
        texts = {item.id: item.converted.text for item in read.documents}
        pages = {item.id: item.converted.pages for item in read.documents}
        records = record_originals(folder, read, left_out)
        return cls(folder, texts, pages=pages, records=records, converter=converter)

    def read(self) -> Mapping[str, Document]:
        """Return the documents by id. Raises AssayError when there are none."""
        if self.texts is not None:
            return {name: make_document(name, text) for name, text in self.texts.items()}
        where = str(self.folder.absolute())
        card = NativeCard(name="new", title="", format="native", documents=where)
        return NativeSource(card, Path(), Problems(strict=True)).documents()

    def nameable(self, target: Path) -> bool:
        """Return True if a card in the folder `target` may name the documents' folder."""
        return may_name(self.folder, target, target / FILE)

    def for_target(self, target: Path, documents: Mapping[str, Document]) -> "Origin":
        """Return the origin of a collection in `target`, with its own texts if it needs them.

        `documents` are those that `read` returns.
        """
        if self.texts is not None or self.nameable(target):
            return self
        return replace(self, texts={id_: document.text for id_, document in documents.items()})


def author(
    origin: Origin, questions: Path | None, name: str | None, output: Path | None, *, force: bool
) -> AuthoredCollection:
    """Make a native collection of the documents of `origin`.

    It goes to `output`, by default ./datasets/<name>; the name is by default that of `output`, else
    of the documents' folder. It has copies of documents that its card could not name. Without
    `questions`, queries that are there stay. Raises AssayError when there are no documents, the
    questions cannot be read, or, without `force`, when a file would be overwritten. Where none of
    the questions can be placed nothing is written.
    """
    target = find_target(origin.folder, name, output)
    name = name or slug((output or origin.folder).resolve().name)
    documents = origin.read()
    origin = origin.for_target(target, documents)
    written = read_questions(questions) if questions else WrittenQuestions([], ())
    judged = locate(written.rows, documents)
    made = AuthoredCollection(
        name,
        target / FILE,
        target / PIPELINE,
        len(documents),
        judged,
        notes=(*written.notes, *describe_frontmatter(documents)),
    )
    if questions and not judged.queries:
        return replace(made, written=False)
    asked = {
        QUERIES: render_rows(list(judged.queries.values())),
        JUDGMENTS: render_rows(judged.judgments),
    }
    called = questions.name if questions else ""
    with changing(target):
        if not questions and all((target / file).exists() for file in asked):
            asked = {}
        files = asked | describe(origin, name, target, documents, called)
        check_target(origin, target, list(files), force, adds=bool(questions))
        write_files(origin, target, files)
        _finish(target, judged)
    if origin.texts is None:
        return made
    return replace(made, copies=target / copies.FOLDER, followed=CONVERSIONS in files)


def describe(
    origin: Origin,
    name: str,
    target: Path,
    documents: Mapping[str, Document],
    questions: str,
    description: str = "",
) -> dict[str, str]:
    """Return config and card of a collection in the folder `target`, by file; the card is last.

    `questions` says where they come from, "" where there are none. Raises AssayError for a name
    that a card cannot have.
    """
    reference = refer_to(name, target)
    folder = _refer(origin.folder, target)
    where = folder if origin.texts is None else copies.FOLDER
    made = origin.texts is not None and bool(origin.records) and origin.nameable(target)
    unspaced = find_unspaced(document.text for document in documents.values())
    most = next(iter(unspaced), None)
    language = origin.language or (CODES[most] if most else "en")
    pages = [
        {"path": id_, "characters": len(document.text), "pages": [*origin.pages[id_]]}
        for id_, document in documents.items()
        if origin.pages.get(id_)
    ]
    card = card_text(
        name, reference, where, questions, language, description, folder if made else "",
        PAGES if pages else "", origin.converter if made else None,
    )  # fmt: skip
    parse_card(card, target / FILE)
    return {
        PIPELINE: pipeline_text(name, reference, most or "english"),
        **({PAGES: render_rows(pages)} if pages else {}),
        **({CONVERSIONS: render_records(origin.records)} if made else {}),
        FILE: card,
    }


def check_target(
    origin: Origin, target: Path, files: Sequence[str], force: bool, *, adds: bool = False
) -> None:
    """Raise AssayError where writing `files` would overwrite something, unless `force`.

    `adds` says that questions could be added to what is there.
    """
    there = [target / file for file in files if (target / file).exists()]
    if there and not force:
        instead = "--add adds the questions to it, " if adds else ""
        raise AssayError(f"{there[-1]}: is there already; {instead}--force overwrites it")
    if origin.texts is not None:
        copies.check_copies(target, origin.folder, force, origin.texts)


def write_files(origin: Origin, target: Path, files: Mapping[str, str]) -> None:
    """Write a collection: copies of its documents where it has some, then `files` in order.

    The card should be the last, since with it the folder becomes a collection.
    """
    if origin.texts is not None:
        copies.write_copies(target, origin.texts)
    for file, text in files.items():
        write_atomically(target / file, text.encode())


def refer_to(name: str, target: Path) -> str:
    """Return the reference that commands use for the collection `name` in the folder `target`."""
    return name if target == Path("datasets").absolute() / name else _refer(target, Path.cwd())


def find_target(folder: Path, name: str | None, output: Path | None) -> Path:
    """Return the folder for the collection of the documents in `folder`: see `author`."""
    target = output or Path("datasets", name or slug(folder.resolve().name))
    return Path(os.path.normpath(target.absolute()))


def add(questions: Path, target: Path) -> AuthoredCollection:
    """Add questions to the collection that `author` made in the folder `target`.

    Its documents are as they lie there now. What a killed call began is finished by the same call.
    Raises AssayError when there is no such collection, or the questions cannot be read; where none
    can be placed nothing is written.
    """
    with changing(target):
        return _add(questions, target.absolute())


def _add(questions: Path, target: Path) -> AuthoredCollection:
    card = read_card(target / FILE)
    paths = [target / file for file in (QUERIES, JUDGMENTS)]
    if not isinstance(card, NativeCard) or not all(path.is_file() for path in paths):
        raise AssayError(f"{target / FILE}: not a collection that `assay init` made")
    problems = Problems(strict=True)
    documents = NativeSource(card, find_data(card), problems).documents()
    queries, judgments = ([dict(row.values) for row in read_jsonl(i, problems)] for i in paths)
    known = JudgedQuestions({query["_id"]: query for query in queries}, judgments)
    written = read_questions(questions)
    judged = locate(written.rows, documents, known)
    made = AuthoredCollection(
        card.name,
        target / FILE,
        target / PIPELINE,
        len(documents),
        judged,
        notes=(*written.notes, *describe_frontmatter(documents)),
    )
    if len(judged.judgments) == len(judgments) and judged.unlocated:
        return replace(made, written=False)
    write_atomically(paths[0], render_rows(list(judged.queries.values())).encode())
    write_atomically(paths[1], render_rows(judged.judgments).encode())
    _finish(target, judged)
    return made


def _finish(target: Path, judged: JudgedQuestions) -> None:
    """Write the list of questions that could not be placed, and seal the card."""
    (target / UNLOCATED).unlink(missing_ok=True)
    if judged.unlocated:
        write_atomically(target / UNLOCATED, render_unlocated(judged.unlocated).encode())
    seal(read_card(target / FILE))


def slug(folder_name: str) -> str:
    """Return the name of a collection of the documents in a folder. Raises AssayError for none."""
    name = re.sub(r"[^a-z0-9_.]+", "-", folder_name.casefold()).strip("-._")
    if not name:
        raise AssayError(f"{folder_name}: gives no name; say --name NAME")
    return name


def _refer(folder: Path, target: Path) -> str:
    """Return the path of `folder` as a file in `target` shall write it.

    Relative when both lie in one repository, or below the current directory, so that they can move
    together; else absolute.
    """
    there, target = folder.resolve(), target.resolve()
    if any(there.is_relative_to(home) and target.is_relative_to(home) for home in _homes()):
        return Path(os.path.relpath(there, target)).as_posix()
    return str(there)


def _homes() -> list[Path]:
    """Return the current directory, and the root of the git repository that it lies in."""
    here = Path.cwd()
    return [here, *(home for home in (here, *here.parents) if (home / ".git").exists())]


def render_unlocated(unlocated: list[UnlocatedQuestion]) -> str:
    """Return the table of questions that were not located."""
    rows = [item.as_row() for item in unlocated]
    return render_table([rows[0], *(row.values() for row in rows)])
