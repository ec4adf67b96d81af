"""The native form: Markdown and text documents, with judged spans, sections or documents."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from eval.collections.card import NativeCard
from eval.collections.collection import GoldItem, Query
from eval.collections.formats.reading import read_beir_qrels, read_jsonl, read_text
from eval.collections.formats.rows import Row, RowError
from eval.collections.formats.source import GoldBook, Register, Source, read_query_rows
from eval.collections.formats.trec import list_documents
from eval.collections.problems import Problems
from retrievers.base import Context, Document
from retrievers.base.frontmatter import Frontmatter, read_frontmatter
from retrievers.base.markdown import TEXT_SUFFIX, find_title, is_plain, read_headings

SUFFIXES = (".md", ".markdown", TEXT_SUFFIX)
Span = tuple[str, int, int]


def list_texts(folder: Path) -> list[Path]:
    """Return the documents below `folder` by path; hidden files and folders are left out."""
    return [path for path in list_documents(folder) if path.suffix.lower() in SUFFIXES]


def make_document(identifier: str, text: str, about: Frontmatter | None = None) -> Document:
    """Return the document of a file: its frontmatter is its metadata and may give its title."""
    metadata = (about or read_frontmatter(text)).metadata
    return Document(identifier, text, find_title(identifier, text, metadata), metadata=metadata)


class NativeSource(Source):
    """A document's id is its path below the documents' folder, with `/` and its extension; its
    text is the file exactly, so that offsets count the file's own code points.
    """

    def __init__(self, card: NativeCard, root: Path, problems: Problems) -> None:
        self._card = card
        self._root = root
        self._problems = problems

    def documents(self) -> dict[str, Document]:
        """Return the documents by id, in the order of their files."""
        folder = self._root / self._card.documents
        if not folder.is_dir():
            self._problems.error(folder, 0, "there is no such folder")
            return {}
        copies = self._card.copies
        register: Register[Document] = Register("document", self._problems, copies)
        for path in list_texts(folder):
            identifier = path.relative_to(folder).as_posix()
            text = read_text(path, self._problems, encoding="utf-8")
            row = Row(path, 0, {})
            about = read_frontmatter(text)
            if about.note:
                self._problems.warn(path, 0, about.note)
            with self._problems.of(row):
                register.add(row, identifier, text, make_document(identifier, text, about))
        if not register.items:
            self._problems.error(folder, 0, f"holds no documents; allowed: {', '.join(SUFFIXES)}")
        for copy, original in copies.items():
            texts = [
                register.items[name].text for name in (copy, original) if name in register.items
            ]
            if len(texts) < 2 or texts[0] != texts[1]:
                place = self._card.path or folder
                message = f'copies: "{copy}" is no copy of "{original}"'
                self._problems.warn(place, 0, message)
        return self._with_contexts(register.items)

    def queries(self) -> Register[Query]:
        """Return the queries there are, judged or not."""
        path = self._root / self._card.queries
        return read_query_rows(read_jsonl(path, self._problems), self._problems)

    def gold(
        self, variant: str, documents: Mapping[str, Document], queries: Mapping[str, Query]
    ) -> GoldBook:
        """Return the judgments of `variant`, resolved to characters of `documents`."""
        book = GoldBook(queries, self._card.min_grade, self._problems)
        for name in self._card.judgment_files(variant):
            earlier = frozenset(book.items)
            for row, item in self._read_judgments(self._root / name, documents):
                if item.query_id not in earlier:
                    with self._problems.of(row):
                        book.add(row, replace(item, grade=book.grade(item.grade)))
        return book

    def _read_judgments(
        self, path: Path, documents: Mapping[str, Document]
    ) -> Iterator[tuple[Row, GoldItem]]:
        if path.suffix == ".tsv":
            places = self._read_anchors(documents)
            for row in read_beir_qrels(path, self._problems):
                with self._problems.of(row):
                    yield row, _resolve_anchor(row, places)
        else:
            for row in read_jsonl(path, self._problems):
                with self._problems.of(row):
                    yield row, resolve_judgment(row, documents)

    def _read_anchors(self, documents: Mapping[str, Document]) -> dict[str, Span]:
        """Return what a .tsv file may name: the anchors, or without any, the documents."""
        if self._card.anchors is None:
            return {name: (name, 0, len(item.text)) for name, item in documents.items()}
        places: dict[str, Span] = {}
        for row in read_jsonl(self._root / self._card.anchors, self._problems):
            with self._problems.of(row):
                where = Row(row.file, row.line, row.mapping("metadata"))
                document = _find_document(where, documents)
                places[row.string("_id")] = (document.id, *_read_span(where, document))
        return places

    def _with_contexts(self, documents: dict[str, Document]) -> dict[str, Document]:
        if self._card.contexts is None:
            return documents
        contexts: dict[str, list[Context]] = {}
        for row in read_jsonl(self._root / self._card.contexts, self._problems):
            with self._problems.of(row):
                document = _find_document(row, documents)
                context = Context(*_read_span(row, document), row.string("context"))
                contexts.setdefault(document.id, []).append(context)
        return {
            name: replace(document, contexts=tuple(contexts.get(name, ())))
            for name, document in documents.items()
        }


def resolve_judgment(row: Row, documents: Mapping[str, Document]) -> GoldItem:
    """Return the gold item of a row with `start` and `end`, with `section`, or with neither.

    A span is taken without the white space at its ends. Raises RowError.
    """
    document = _find_document(row, documents)
    query_id, grade = row.string("query_id"), row.integer("grade", 1)
    if row.has("start") or row.has("end"):
        span = _read_span(row, document)
    elif row.has("section"):
        span = _find_section(row.string("section"), document)
    else:
        return GoldItem(query_id, document.id, document.id, 0, len(document.text), grade)
    return _make_span_item(query_id, document.id, span, grade)


def _resolve_anchor(row: Row, places: Mapping[str, Span]) -> GoldItem:
    target = row.string("target")
    if target not in places:
        raise RowError(f'there is no anchor or document "{target}"')
    document_id, start, end = places[target]
    query_id, grade = row.string("query_id"), row.integer("grade")
    if target == document_id:
        return GoldItem(query_id, document_id, document_id, start, end, grade)
    return _make_span_item(query_id, document_id, (start, end), grade)


def _make_span_item(query_id: str, document_id: str, span: tuple[int, int], grade: int) -> GoldItem:
    start, end = span
    return GoldItem(query_id, f"{document_id}[{start}:{end}]", document_id, start, end, grade)


def _find_document(row: Row, documents: Mapping[str, Document]) -> Document:
    path = row.string("path")
    if path not in documents:
        raise RowError(f'there is no document "{path}"')
    return documents[path]


def _read_span(row: Row, document: Document) -> tuple[int, int]:
    start, end = row.integer("start"), row.integer("end")
    if not 0 <= start < end <= len(document.text):
        raise RowError(
            f'span {start} to {end} is not within "{document.id}"; '
            f"allowed: 0 <= start < end <= {len(document.text)}"
        )
    piece = document.text[start:end]
    if row.has("text") and row.string("text").strip() != piece.strip():
        raise RowError(
            f'"{document.id}" reads {_shorten(piece)} from {start} to {end}, '
            f"the row says {_shorten(row.string('text'))}"
        )
    return _trim(document.text, start, end)


def _find_section(heading: str, document: Document) -> tuple[int, int]:
    if is_plain(document.id):
        raise RowError(f'"{document.id}" is plain text and has no sections; give start and end')
    wanted = _fold(heading)
    found = [item for item in read_headings(document.text) if _fold(item.title) == wanted]
    if len(found) == 1:
        return _trim(document.text, found[0].start, found[0].end)
    if found:
        lines = [document.text.count("\n", 0, item.start) + 1 for item in found]
        places = ", ".join(map(str, lines))
        raise RowError(
            f'"{document.id}" has the heading "{heading}" at lines {places}; give start and end'
        )
    titles = ", ".join(f'"{item.title}"' for item in read_headings(document.text)[:5])
    raise RowError(f'"{document.id}" has no heading "{heading}"; it has: {titles or "none"}')


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    if piece.isspace():
        raise RowError(f"span {start} to {end} holds nothing but white space")
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def _fold(heading: str) -> str:
    return " ".join(heading.lstrip("#").casefold().split())


def _shorten(text: str) -> str:
    one_line = " ".join(text.split())
    return repr(one_line if len(one_line) <= 40 else f"{one_line[:37]}...")
