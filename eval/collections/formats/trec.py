"""TREC files: trectext or JSON Lines documents, topics, qrels."""

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from assay.eval.collections.card import FileCard
from assay.eval.collections.collection import Label, Query
from assay.eval.collections.formats.mapped import (
    JSON_LINES,
    LARGEST_HELD,
    Content,
    Layout,
    find_undecodable,
    is_large,
    shelve,
)
from assay.eval.collections.formats.reading import (
    NOT_UTF_8,
    find_suffix,
    read_jsonl,
    read_lines,
    read_text,
    read_trec_qrels,
)
from assay.eval.collections.formats.rows import Row, RowError
from assay.eval.collections.formats.source import (
    GoldBook,
    QueryRegister,
    Register,
    Source,
    make_passage,
    read_passage_judgments,
    tell_passage,
)
from assay.eval.collections.problems import Problems
from assay.retrievers.base import Document


class Element(NamedTuple):
    """An element from `start` to `end`, and its content from `begin` to `stop`."""

    start: int
    begin: int
    stop: int
    end: int


class Elements:
    """A finder of the elements of some names, in capitals or not, in texts or in bytes.

    One pattern of both tags would read to the end from every tag that is never closed.
    """

    def __init__(self, *names: str, binary: bool = False) -> None:
        def write(pattern: str) -> re.Pattern[Any]:
            return re.compile(pattern.encode() if binary else pattern, re.I)

        self.opening = write(f"<({'|'.join(names)})>")
        self._closing = {name.encode() if binary else name: write(f"</{name}>") for name in names}

    def find(self, content: Any) -> Iterator[Element]:
        """Yield each element: from the first tag that opens one to the next that closes it."""
        closing = {name.lower(): pattern for name, pattern in self._closing.items()}
        i = 0
        while closing and (opened := self.opening.search(content, i)):
            name, i = opened[1].lower(), opened.end()
            if name not in closing:
                continue
            if closed := closing[name].search(content, i):
                i = closed.end()
                yield Element(opened.start(), opened.end(), closed.start(), i)
            else:
                del closing[name]


DOC, DOC_BYTES = Elements("DOC"), Elements("DOC", binary=True)
DOCNO = Elements("DOCNO")
TITLE = Elements("TITLE", "HEADLINE", "HEAD")
TEXT = Elements("TEXT", "BODY")
TAG = re.compile(r"</?[A-Za-z][^<>]*>")
TOP = Elements("top")
TOPIC_FIELD = re.compile(
    r"<(num|title|desc|narr)>\s*(?:Number:|Topic:|Description:|Narrative:)?(.*?)(?=<\w+>|\Z)",
    re.S | re.I,
)


class TrecCard(FileCard):
    """TREC files: documents as trectext or JSON Lines, topics, qrels of four columns."""

    format: Literal["trec"] = Field(description="how the data is read")
    documents: str = Field(description="a file, or a folder of files: trectext, or .jsonl")
    queries: str = Field(description="topics as <top> records, or id, tab, text")
    topic_field: Literal["title", "desc", "narr"] = Field(
        "title", description="the field of a <top> record that is the query"
    )

    def document_names(self) -> list[str]:
        """The files and folders that the documents are read from."""
        return [self.documents]


class TrecSource(Source[TrecCard]):
    """Each document is one passage, as TREC judges it."""

    card_class = TrecCard
    takes_labels = "copy"

    def documents(self) -> Mapping[str, Document]:
        """Return the documents by id, in the order of their files."""
        paths = self._card.list_files(self._root / self._card.documents)
        if is_large(paths, LARGEST_HELD):
            files = [(path, JSON if _has_lines(path) else TRECTEXT) for path in paths]
            return shelve(files, _make_document, self._problems)
        register: Register[Document] = Register("document", self._problems)
        for path in paths:
            read = _read_json_documents if _has_lines(path) else _read_trectext
            for row in read(path, self._problems):
                with self._problems.of(row):
                    document = _make_document(row)
                    register.add(row, document.id, tell_passage(document), document)
        return register.items

    def queries(self) -> Register[Query]:
        """Return the queries there are, judged or not."""
        path = self._root / self._card.queries
        register = QueryRegister(self._problems)
        text = read_text(path, self._problems)
        if TOP.opening.search(text):
            read = _read_top_records(path, text, self._problems)
        else:
            read = self._read_table(path) if text else iter(())
        for row in read:
            with self._problems.of(row):
                metadata = {key: row.values[key] for key in ("desc", "narr") if row.has(key)}
                query_text = row.string(self._card.topic_field)
                register.add_query(row, Query(row.string("num"), query_text, "", metadata))
        return register

    def gold(
        self, variant: str, documents: Mapping[str, Document], queries: Mapping[str, Query]
    ) -> GoldBook:
        """Return the judgments of `variant`, resolved to characters of `documents`."""
        book = GoldBook(queries, self._card.min_grade, self._problems, self._card.judged_by)
        for name in self._card.judgment_files(variant):
            rows = read_trec_qrels(self._root / name, self._problems)
            read_passage_judgments(rows, documents, book, self._problems)
        return book

    def render_label(self, label: Label) -> str:
        """Return the line of a judgment."""
        return f"{label.query_id} 0 {label.passage_id} {label.grade}\n"

    def _read_table(self, path: Path) -> Iterator[Row]:
        for number, line in read_lines(path, self._problems):
            identifier, tab, text = line.partition("\t")
            if tab:
                yield Row(path, number, {"num": identifier, self._card.topic_field: text})
            else:
                message = "no tab; a line must be an id, a tab and the query's text"
                self._problems.error(path, number, message)


def _has_lines(path: Path) -> bool:
    return find_suffix(path) == ".jsonl"


def _read_json_documents(path: Path, problems: Problems) -> Iterator[Row]:
    """Return rows with an id (`docno`, `id` or `_id`) and text (`text` or `contents`)."""
    return map(_rename, read_jsonl(path, problems))


def _rename(row: Row) -> Row:
    identifier = next((row.values[key] for key in ("docno", "id", "_id") if row.has(key)), None)
    text = next((row.values[key] for key in ("text", "contents") if row.has(key)), None)
    values = {"docno": identifier, "text": text, "title": row.values.get("title")}
    return Row(row.file, row.line, values)


def _read_trectext(path: Path, problems: Problems) -> Iterator[Row]:
    content = read_text(path, problems)
    line, i = 1, 0
    for record in DOC.find(content):
        line, i = line + content.count("\n", i, record.start), record.start
        yield _read_record(path, line, content[record.begin : record.stop])
    _check_records(path, content, DOC, problems)


def _read_record(path: Path, line: int, body: str) -> Row:
    number, title = next(DOCNO.find(body), None), next(TITLE.find(body), None)
    texts = [body[text.begin : text.stop] for text in TEXT.find(body)]
    if not texts:  # everything but the fields already taken
        texts = [_leave_out(TITLE, _leave_out(DOCNO, body))]
    values = {
        "docno": body[number.begin : number.stop].strip() if number else None,
        "title": _plain(body[title.begin : title.stop]) if title else "",
        "text": _plain("\n".join(texts)),
    }
    return Row(path, line, values)


def _leave_out(elements: Elements, body: str) -> str:
    """Return `body` without these elements."""
    parts, i = [], 0
    for found in elements.find(body):
        parts.append(body[i : found.start])
        i = found.end
    return "".join([*parts, body[i:]])


def _check_records(
    path: Path, content: str | Content, records: Elements, problems: Problems
) -> None:
    whole = sum(1 for _ in records.find(content))
    opened = sum(1 for _ in records.opening.finditer(content))
    if len(content) and not whole:
        problems.error(path, 0, "holds no <DOC>…</DOC>; documents must be trectext or .jsonl")
    elif opened != whole:
        line = _find_unclosed(content, records)
        problems.error(path, line, "the <DOC> is not closed by </DOC> before the next one")


def _scan_trectext(
    path: Path, content: Content, problems: Problems
) -> Iterator[tuple[Row, int, int]]:
    if (bad := find_undecodable(content)) is not None:
        problems.error(path, content[:bad].count(b"\n") + 1, NOT_UTF_8)
        return
    line, i = 1, 0
    for start, _, _, end in DOC_BYTES.find(content):
        line, i = line + content[i:start].count(b"\n"), start
        yield _parse_trectext(path, line, content[start:end]), start, end
    _check_records(path, content, DOC_BYTES, problems)


def _parse_trectext(path: Path, line: int, content: bytes) -> Row:
    return _read_record(path, line, content.decode()[len("<DOC>") : -len("</DOC>")])


def _scan_json(path: Path, content: Content, problems: Problems) -> Iterator[tuple[Row, int, int]]:
    for row, start, end in JSON_LINES.scan(path, content, problems):
        yield _rename(row), start, end


def _parse_json(path: Path, line: int, content: bytes) -> Row:
    return _rename(JSON_LINES.parse(path, line, content))


TRECTEXT = Layout(_scan_trectext, _parse_trectext)
JSON = Layout(_scan_json, _parse_json)


def _make_document(row: Row) -> Document:
    if not row.has("docno"):
        raise RowError("the document has no id; it must be in <DOCNO>, or docno, id or _id in JSON")
    return make_passage(row.string("docno"), row.string("title", ""), row.string("text"))


def _plain(marked: str) -> str:
    return html.unescape(TAG.sub(" ", marked)).strip()


def _find_unclosed(content: str | Content, records: Elements) -> int:
    """Return the line of the first record that is not closed before the next one; 0 for none."""
    ends = {found.start: found.end for found in records.find(content)}
    begun = 0
    for found in records.opening.finditer(content):
        if found.start() not in ends:
            first = begun if found.start() < ends.get(begun, 0) else found.start()
            before = content[:first]
            breaks = before.count("\n") if isinstance(before, str) else before.count(b"\n")
            return breaks + 1
        begun = found.start()
    return 0


def _read_top_records(path: Path, text: str, problems: Problems) -> Iterator[Row]:
    if line := _find_unclosed(text, TOP):
        problems.error(path, line, "the <top> is not closed by </top> before the next one")
    for record in TOP.find(text):
        fields = {
            match[1].lower(): " ".join(_plain(match[2]).split())
            for match in TOPIC_FIELD.finditer(text[record.begin : record.stop])
        }
        yield Row(path, text.count("\n", 0, record.start) + 1, fields)
