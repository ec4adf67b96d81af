"""The native form: Markdown and text documents, with judged spans, sections or documents."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from pydantic_core import from_json, to_json

from assay.eval.collections.card import FileCard, VariantName
from assay.eval.collections.collection import GoldItem, Label, Query, Span
from assay.eval.collections.formats import memo
from assay.eval.collections.formats.originals import Changes, find_changes, render_records
from assay.eval.collections.formats.places import (
    find_document,
    read_span,
    resolve_anchor,
    resolve_judgment,
)
from assay.eval.collections.formats.reading import (
    choose_progress,
    find_suffix,
    measure,
    read_beir_qrels,
    read_jsonl,
    read_text,
)
from assay.eval.collections.formats.rows import Row, RowError, render_rows
from assay.eval.collections.formats.source import GoldBook, Register, Source, read_query_rows
from assay.eval.collections.living.findings import Finding
from assay.eval.collections.living.placing import Drift, make_item, place_rows
from assay.retrievers.base import Chunk, Context, Document
from assay.retrievers.base.frontmatter import read_frontmatter
from assay.retrievers.base.markdown import TEXT_SUFFIX, find_title, is_plain
from assay.retrievers.documents.conversion.converters import AnyConverter
from assay.retrievers.settings.trust import check_places, check_values
from assay.retrievers.store.digest import digest, digest_file, digest_texts
from assay.retrievers.store.files import write_atomically

JUDGMENTS = "judgments"  # as they were read, by all that they were read from
# The values of a gold item but for its query.
take_values = attrgetter(*(item.name for item in fields(GoldItem) if item.name != "query_id"))
TABLE = ".tsv"  # judgments of anchors, among which no span can stand
SUFFIXES = (".md", ".markdown", TEXT_SUFFIX)
# A heading in the first line, without markup: Markdown reads it so whatever follows, and parsing
# all of a text takes longer than all else.
PLAIN_TOP = re.compile(r"# +([^\W_](?:[^\W_]|[ ,.:;()'/-])*[^\W_])(?=\n|\Z)")


def make_document(identifier: str, text: str) -> Document:
    """Return the document of a file: its frontmatter is its metadata and may give its title."""
    metadata = read_frontmatter(text).metadata
    return Document(identifier, text, find_title(identifier, text, metadata), metadata=metadata)


class NativeCard(FileCard):
    """Markdown and text documents with judged spans, sections or whole documents."""

    contexts_of = "place"
    judges_spans = True

    format: Literal["native"] = Field(description="how the data is read")
    documents: str = Field("docs", description="folder of .md, .markdown and .txt files")
    judgments: dict[VariantName, str | list[str]] = Field(
        {"test": "judgments.jsonl"},
        min_length=1,
        description="JSON Lines, or BEIR judgments (.tsv) of anchors or documents; of several "
        "files a later one adds the queries the earlier ones do not judge",
    )
    originals: str | None = Field(
        None,
        description="folder of the files that documents were made of: that of a.pdf.md is a.pdf",
    )
    conversions: str | None = Field(
        None,
        description="rows with original, a file in `originals`; path, the document of it; and its "
        "sha256 then: what has changed since is converted again",
    )
    converter: AnyConverter | None = Field(
        None, description="what converts `originals`; markitdown if not given"
    )
    pages: str | None = Field(
        None,
        description="rows with path, the characters of the document, and the offset of each page",
    )
    anchors: str | None = Field(
        None, description="rows with _id and metadata.path, .start, .end, that .tsv files name"
    )
    contexts: str | None = Field(None, description="rows with path, start, end, context")
    copies: dict[str, str] = Field(
        default_factory=dict,
        description="documents that are copies of another, each with the other's path; the check "
        "then says so only where they are not",
    )

    @property
    def contexts_file(self) -> str | None:
        """The file of contexts the card names."""
        return self.contexts

    @property
    def known_copies(self) -> Mapping[str, str]:
        """The original of each document that the card says is a copy, by ids."""
        return self.copies

    def list_files(self, path: Path) -> list[Path]:
        """Return the documents below `path` by their paths, hidden ones left out."""
        return [file for file in super().list_files(path) if file.suffix.lower() in SUFFIXES]

    def document_names(self) -> list[str]:
        """The files and folders that the documents are read from."""
        names = (self.documents, self.conversions, self.pages, self.anchors, self.contexts)
        return [name for name in names if name]


class NativeSource(Source[NativeCard]):
    """A document's id is its path below the documents' folder, with `/` and its extension; its
    text is the file exactly, so that offsets count the file's own code points.
    """

    card_class = NativeCard
    takes_labels = "in place"
    names_judges = True

    def documents(self) -> Mapping[str, Document]:
        """Return the documents by id, in the order of their files."""
        folder = self._root / self._card.documents
        if not folder.is_dir():
            self._problems.error(folder, 0, "there is no such folder")
            return {}
        if self._card.originals and not (self._root / self._card.originals).is_dir():
            self._problems.warn(self._root / self._card.originals, 0, "there is no such folder")
        changes = self.changes
        files = self._card.list_files(folder)
        there = {path.relative_to(folder).as_posix() for path in files}
        names = sorted((there | changes.texts.keys()) - changes.gone, key=Path)
        progress = choose_progress(sum(map(measure, files)), self._problems)
        pages = self._read_pages(changes)
        register: Register[Document] = Register("document", self._problems, self._card.copies)
        for name in progress.track(names, "reading documents", len(names)):
            document = self._read_document(folder, name, pages)
            register.add(Row(folder / name, 0, {}), name, document.text, document)
        documents = register.items
        if not documents:
            self._problems.error(folder, 0, f"holds no documents; allowed: {', '.join(SUFFIXES)}")
        for name in pages.keys() - documents.keys():
            path = self._root / str(self._card.pages)
            self._problems.warn(path, 0, f'"{name}" is no document')
        for copy, original in self._card.copies.items():
            pair = [documents[name].text for name in (copy, original) if name in documents]
            if len(pair) < 2 or pair[0] != pair[1]:
                place = self._card.path or folder
                message = f'copies: "{copy}" is no copy of "{original}"'
                self._problems.warn(place, 0, message)
        return self._add_contexts(documents)

    def _read_document(
        self, folder: Path, name: str, pages: Mapping[str, tuple[int, tuple[int, ...]]]
    ) -> Document:
        """Return a document of its file; `pages` are those of `_read_pages`."""
        path = folder / name
        text = self.changes.texts.get(name)
        if text is None:
            text = read_text(path, self._problems, encoding="utf-8")
        about = read_frontmatter(text)
        if about.note:
            self._problems.warn(path, 0, about.note)
        title = ""
        if not about.metadata and (top := PLAIN_TOP.match(text)):
            title = "" if is_plain(name) else top[1]
        characters, starts = pages.get(name, (len(text), ()))
        if len(text) != characters:
            message = f"has {len(text):,} characters, not the {characters:,} that its pages are of"
            self._problems.warn(path, 0, f"{message}; hits are told without a page")
            starts = ()
        return Document(
            name,
            text,
            title or find_title(name, text, about.metadata),
            metadata=about.metadata,
            origin=self._find_origin(name),
            pages=starts,
        )

    def _add_contexts(self, documents: Mapping[str, Document]) -> Mapping[str, Document]:
        if self._card.contexts is None:
            return documents
        contexts: dict[str, list[Context]] = {}
        for row in read_jsonl(self._root / self._card.contexts, self._problems):
            with self._problems.of(row):
                document = find_document(row, documents)
                context = Context(*read_span(row, document), row.string("context"))
                contexts.setdefault(document.id, []).append(context)
        return {
            name: replace(document, contexts=tuple(contexts.get(name, ())))
            for name, document in documents.items()
        }

    @cached_property
    def changes(self) -> Changes:
        """The changes of the files that the documents were made of. Raises AssayError."""
        card = self._card
        if card.originals is None or card.conversions is None:
            return Changes()
        folder = Path(os.path.normpath(self._root / card.originals))
        if not folder.is_dir():
            return Changes()  # which is reported with the documents
        if card.path:
            check_places([folder], self._root, card.path)
            check_values(card.path, card.model_dump(include={"converter"}, exclude_none=True))
        known = {}
        for row in read_jsonl(self._root / card.conversions, self._problems):
            with self._problems.of(row):
                known[row.string("original")] = row.values
        return find_changes(folder, known, card.converter, self._problems)

    def list_changes(self) -> list[Path]:
        """Return the files that `write_changes` may write."""
        card, folder = self._card, self._root / self._card.documents
        records = [self._root / name for name in (card.pages, card.conversions) if name]
        return [*records, *(folder / name for name in self.changes.texts)]

    def write_changes(self) -> list[Path]:
        """Copy the text of changed originals again, and return the files that were written.

        Their records are written last: until then the same changes are found again.
        """
        changes, card = self.changes, self._card
        if not changes:
            return []
        folder = self._root / card.documents
        for name in changes.gone:
            (folder / name).unlink(missing_ok=True)
        files = {folder / name: text for name, text in changes.texts.items()}
        if card.pages:
            pages = self._read_pages(changes)
            rows = (
                {"path": name, "characters": characters, "pages": [*starts]}
                for name, (characters, starts) in sorted(pages.items())
                if starts and name not in changes.gone
            )
            files[self._root / card.pages] = render_rows(rows)
        files[self._root / str(card.conversions)] = render_records(changes.records)
        for path, text in files.items():
            write_atomically(path, text.encode())
        return list(files)

    def _read_pages(self, changes: Changes) -> Mapping[str, tuple[int, tuple[int, ...]]]:
        """Return by document id its characters and the offsets of its pages."""
        found: dict[str, tuple[int, tuple[int, ...]]] = {}
        path = self._root / self._card.pages if self._card.pages else None
        for row in read_jsonl(path, self._problems) if path else ():
            with self._problems.of(row):
                match row.values:
                    case {"characters": int(characters), "pages": [*starts]} if all(
                        type(start) is int for start in starts
                    ) and [0, *starts, characters] == sorted([0, *starts, characters]):
                        found[row.string("path")] = (characters, tuple(starts))
                    case _:
                        raise RowError(
                            'needs "characters" and a list "pages", whole numbers that rise from '
                            '0 to "characters"'
                        )
        return found | {
            name: (len(text), changes.pages[name]) for name, text in changes.texts.items()
        }

    def _find_origin(self, identifier: str) -> str:
        """Return the path of the file that a document was made of, "" where it is not here."""
        if self._card.originals is None:
            return ""
        path = self._root / self._card.originals / identifier.removesuffix(SUFFIXES[0])
        if not path.is_file():
            return ""
        if self._card.path:
            check_places([path], self._root, self._card.path)
        return str(path)

    def queries(self) -> Register[Query]:
        """Return the queries there are, judged or not."""
        path = self._root / self._card.queries
        return read_query_rows(read_jsonl(path, self._problems), self._problems, self._card)

    def gold(
        self, variant: str, documents: Mapping[str, Document], queries: Mapping[str, Query]
    ) -> GoldBook:
        """Return the judgments of `variant`, resolved to characters of `documents`.

        Those that were read before without a fault are found again.
        """
        book = GoldBook(queries, self._card.min_grade, self._problems, self._card.judged_by)
        if not self._problems.strict:
            self._read_gold(book, variant, documents)
            return book
        files = [*self._card.judgment_files(variant), *filter(None, [self._card.anchors])]
        content = [digest_file(path) for name in files if (path := self._root / name).is_file()]
        texts = digest_texts(part for item in documents.values() for part in (item.id, item.text))
        key = digest(self._card.model_dump(mode="json"), variant, content, texts, list(queries))
        if (kept := memo.find(JUDGMENTS, key)) is not None:
            book.items = {
                query: {row[0]: GoldItem(query, *row) for row in rows}
                for query, rows in from_json(kept).items()
            }
            return book
        drift = self._read_gold(book, variant, documents)
        drift.say(self._card.name, self._problems.progress)
        if not drift.found:  # which is said each time
            rows = {
                query: [take_values(item) for item in items.values()]
                for query, items in book.items.items()
            }
            memo.keep(JUDGMENTS, key, to_json(rows))
        return book

    def _read_gold(self, book: GoldBook, variant: str, documents: Mapping[str, Document]) -> Drift:
        """Put the judgments of `variant` into `book`; return those whose text is elsewhere now."""
        drift, judge = Drift(), self._card.judged_by
        for name in self._card.judgment_files(variant):
            earlier = frozenset(book.items)
            path = self._root / name
            placed: Iterator[tuple[Row, Finding | None]]
            if find_suffix(path) == TABLE:
                places, lost = self._read_anchors(documents, drift)
                rows = read_beir_qrels(path, self._problems)
                placed = ((row, None) for row in rows if row.values["target"] not in lost)
                resolve: Callable[[Row], GoldItem] = partial(resolve_anchor, places=places)
            else:
                rows = read_jsonl(path, self._problems)
                placed = place_rows(rows, documents, self._problems, drift)
                resolve = partial(resolve_judgment, documents=documents, judged_by=judge)
            for row, finding in placed:
                with self._problems.of(row):
                    item = make_item(row, finding, judge) if finding else resolve(row)
                    if item.query_id not in earlier:
                        book.add(row, item)
        return drift

    def render_context(self, chunk: Chunk, context: str) -> dict[str, str | int]:
        """Return the row of the context of a place."""
        return {
            "path": chunk.doc_id,
            "start": chunk.start,
            "end": chunk.end,
            "context": context,
        }

    def render_label(self, label: Label) -> str:
        """Return the row of a judgment, with the text it is about."""
        span = {"start": label.start, "end": label.end, "text": label.text}
        row = {"query_id": label.query_id, "path": label.doc_id, **span, "grade": label.grade}
        origin = {key: getattr(label, key) for key in ("comment", "judged_by", "judged_on")}
        return render_rows([row | {key: value for key, value in origin.items() if value}])

    def find_files(self, variant: str) -> dict[str, Path]:
        """Return the file that judges each query: the first one if there are several."""
        found: dict[str, Path] = {}
        for name in self._card.judgment_files(variant):
            path = self._root / name
            read = read_beir_qrels if find_suffix(path) == TABLE else read_jsonl
            for row in read(path, self._problems):
                found.setdefault(row.string("query_id"), path)
        return found

    def convert_judgments(
        self,
        gold: Mapping[str, Sequence[GoldItem]],
        variant: str,
        queries: set[str],
        target: Path,
    ) -> dict[str, Any]:
        """Write judgments of a table as spans, for those `queries` that have them in a table.

        They go into a file of their own that comes first. Return the keys of the card that change.
        """
        files = self.find_files(variant)
        in_tables = {query for query, path in files.items() if find_suffix(path) == TABLE}
        moved = [query for query in gold if query in queries & in_tables]
        if not moved:
            return {}
        name = f"judgments-{variant}.jsonl"
        rows = [_gold_row(item) for query in moved for item in gold[query]]
        write_atomically(target / name, render_rows(rows).encode())
        judgments = {known: self._card.judgment_files(known) for known in self._card.variants}
        return {"judgments": judgments | {variant: [name, *judgments[variant]]}}

    def _read_anchors(
        self, documents: Mapping[str, Document], drift: Drift
    ) -> tuple[Mapping[str, Span], set[str]]:
        """Return the spans that a .tsv file may name, and the anchors whose text is gone.

        The spans are the anchors, or the documents if there are no anchors.
        """
        if self._card.anchors is None:
            return {name: (name, 0, len(item.text)) for name, item in documents.items()}, set()
        places: dict[str, Span] = {}
        names: dict[int, str] = {}
        inner = []
        for row in read_jsonl(self._root / self._card.anchors, self._problems):
            with self._problems.of(row):
                names[row.line] = row.string("_id")
                inner.append(Row(row.file, row.line, row.mapping("metadata")))
        placed = place_rows(inner, documents, self._problems, drift)
        for row, finding in placed:
            with self._problems.of(row):
                if finding and (place := finding.place):
                    places[names[row.line]] = (place.doc_id, place.start, place.end)
                else:
                    document = find_document(row, documents)
                    places[names[row.line]] = (document.id, *read_span(row, document))
        return places, set(names.values()) - places.keys()


def _gold_row(item: GoldItem) -> dict[str, Any]:
    row: dict[str, Any] = {"query_id": item.query_id, "path": item.doc_id}
    if item.id != item.doc_id:
        row |= {"start": item.start, "end": item.end}
    return row | {"grade": item.grade} | ({"judged_by": item.judged_by} if item.judged_by else {})
