"""TREC files: trectext or JSON Lines documents, topics, qrels."""

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from eval.collections.card import FileCard
from eval.collections.collection import Label, Query
from eval.collections.formats.reading import (
    find_suffix,
    read_jsonl,
    read_lines,
    read_text,
    read_trec_qrels,
)
from eval.collections.formats.rows import Row, RowError
from eval.collections.formats.source import (
    GoldBook,
    QueryRegister,
    Register,
    Source,
    read_passage_judgments,
)
from eval.collections.problems import Problems
from retrievers.base import Document, Passage

DOC = re.compile(r"<DOC>(.*?)</DOC>", re.S | re.I)
OPENING = re.compile(r"<DOC>", re.I)
DOCNO = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.S | re.I)
TITLE = re.compile(r"<(TITLE|HEADLINE|HEAD)>(.*?)</\1>", re.S | re.I)
TEXT = re.compile(r"<(TEXT|BODY)>(.*?)</\1>", re.S | re.I)
TAG = re.compile(r"</?[A-Za-z][^<>]*>")
TOP_OPENING = re.compile(r"<top>", re.I)
TOP = re.compile(r"<top>(.*?)</top>", re.S | re.I)
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

    def _document_names(self) -> list[str]:
        return [self.documents]


class TrecSource(Source[TrecCard]):
    """Each document is one passage, as TREC judges it."""

    card_class = TrecCard
    takes_labels = "copy"

    def documents(self) -> dict[str, Document]:
        """Return the documents by id, in the order of their files."""
        register: Register[Document] = Register("document", self._problems)
        for path in self._card.list_files(self._root / self._card.documents):
            rows = (
                _read_json_documents(path, self._problems)
                if find_suffix(path) == ".jsonl"
                else _read_trectext(path, self._problems)
            )
            for row in rows:
                with self._problems.of(row):
                    document = _make_document(row)
                    text = f"{document.title}\n{document.text}"
                    register.add(row, document.id, text, document)
        return register.items

    def queries(self) -> Register[Query]:
        """Return the queries there are, judged or not."""
        path = self._root / self._card.queries
        register = QueryRegister(self._problems)
        text = read_text(path, self._problems)
        if TOP_OPENING.search(text):
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


def _read_json_documents(path: Path, problems: Problems) -> Iterator[Row]:
    """Yield rows with an id (`docno`, `id` or `_id`) and text (`text` or `contents`)."""
    for row in read_jsonl(path, problems):
        identifier = next((row.values[key] for key in ("docno", "id", "_id") if row.has(key)), None)
        text = next((row.values[key] for key in ("text", "contents") if row.has(key)), None)
        values = {"docno": identifier, "text": text, "title": row.values.get("title")}
        yield Row(path, row.line, values)


def _read_trectext(path: Path, problems: Problems) -> Iterator[Row]:
    content = read_text(path, problems)
    line, at = 1, 0
    for record in DOC.finditer(content):
        line, at = line + content.count("\n", at, record.start()), record.start()
        body = record[1]
        number = DOCNO.search(body)
        title = TITLE.search(body)
        texts = [match[2] for match in TEXT.finditer(body)]
        if not texts:  # everything but the fields already taken
            texts = [TITLE.sub("", DOCNO.sub("", body))]
        yield Row(
            path,
            line,
            {
                "docno": number[1].strip() if number else None,
                "title": _plain(title[2]) if title else "",
                "text": _plain("\n".join(texts)),
            },
        )
    if content and not DOC.search(content):
        problems.error(path, 0, "holds no <DOC>…</DOC>; documents must be trectext or .jsonl")
    elif line := _find_unclosed(content, OPENING, DOC):
        problems.error(path, line, "the <DOC> is not closed by </DOC> before the next one")


def _make_document(row: Row) -> Document:
    if not row.has("docno"):
        raise RowError("the document has no id; it must be in <DOCNO>, or docno, id or _id in JSON")
    identifier, title, text = row.string("docno"), row.string("title", ""), row.string("text")
    return Document(identifier, text, title, (Passage(identifier, 0, len(text), title),))


def _plain(marked: str) -> str:
    return html.unescape(TAG.sub(" ", marked)).strip()


def _find_unclosed(text: str, opening: re.Pattern[str], record: re.Pattern[str]) -> int:
    """Return the line of the first record that is not closed before the next one; 0 for none."""
    ends = {found.start(): found.end() for found in record.finditer(text)}
    begun = 0
    for found in opening.finditer(text):
        if found.start() not in ends:
            first = begun if found.start() < ends.get(begun, 0) else found.start()
            return text.count("\n", 0, first) + 1
        begun = found.start()
    return 0


def _read_top_records(path: Path, text: str, problems: Problems) -> Iterator[Row]:
    if line := _find_unclosed(text, TOP_OPENING, TOP):
        problems.error(path, line, "the <top> is not closed by </top> before the next one")
    for record in TOP.finditer(text):
        fields = {
            match[1].lower(): " ".join(_plain(match[2]).split())
            for match in TOPIC_FIELD.finditer(record[1])
        }
        yield Row(path, text.count("\n", 0, record.start()) + 1, fields)
