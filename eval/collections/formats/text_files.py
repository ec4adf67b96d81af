"""Documents that are the files of a folder."""

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.eval.collections.collection import DocumentShelf
from assay.eval.collections.formats.reading import CHANGED, read_text
from assay.eval.collections.formats.rows import Row
from assay.eval.collections.formats.source import Echoes, Register
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, Document
from assay.retrievers.base.frontmatter import read_frontmatter
from assay.retrievers.base.markdown import find_title, is_plain
from assay.retrievers.store.lazy_sequence import ById

# A heading in the first line, without markup: Markdown reads it so whatever follows, and parsing
# all of a text takes longer than all else.
PLAIN_TOP = re.compile(r"# +([^\W_](?:[^\W_]|[ ,.:;()'/-])*[^\W_])(?=\n|\Z)")


@dataclass(frozen=True, slots=True)
class TextFiles:
    """The files below `folder`, whose names there are the ids of documents.

    `find_origin` returns a document's `origin`; `copies` are those of `Echoes`. `pages` are by id
    the characters of a document and the offsets of its pages, which hold while it has so many.
    `newer` are texts, by id, that count in place of the files'.
    """

    folder: Path
    find_origin: Callable[[str], str]
    copies: Mapping[str, str]
    pages: Mapping[str, tuple[int, tuple[int, ...]]]
    problems: Problems
    newer: Mapping[str, str] = field(default_factory=dict)

    def hold(self, names: Iterable[str]) -> Mapping[str, Document]:
        """Return the documents of these names by id."""
        register: Register[Document] = Register("document", self.problems, self.copies)
        for name in names:
            document = self._read(name, self.problems)
            register.add(self._row(name), name, document.text, document)
        return register.items

    def shelve(self, names: Sequence[str], tracked: Iterable[str]) -> Mapping[str, Document]:
        """Return documents that are read from their files whenever they are asked for.

        `tracked` are the `names` as they are read first. Titles are kept: to find one, all of a
        text is parsed. So are hashes of texts: one that is another than what was read first would
        be kept in the cache as that. Taking it raises AssayError.
        """
        titles: list[str] = []
        hashes = array("q")
        echoes: Echoes[int] = Echoes("document", self.problems, names.__getitem__, self.copies)
        for i, name in enumerate(tracked):
            document = self._read(name, self.problems)
            titles.append(document.title)
            hashes.append(hash(document.text))
            echoes.note(self._row(name), name, document.text, i)

        def take(i: int) -> Document:
            # What was told of a file that is collected need not be told again.
            document = self._read(names[i], Problems(strict=self.problems.strict), titles[i])
            if hash(document.text) != hashes[i]:
                raise AssayError(f"{self.folder / names[i]}: {CHANGED}")
            return document

        shelf = DocumentShelf(array("q", map(hash, names)), take, {})
        return ById(shelf, shelf.__getitem__)

    def _row(self, name: str) -> Row:
        return Row(self.folder / name, 0, {})

    def _read(self, name: str, problems: Problems, title: str | None = None) -> Document:
        text = self.newer.get(name)
        if text is None:
            text = read_text(self.folder / name, problems, encoding="utf-8")
        about = read_frontmatter(text)
        if about.note:
            problems.warn(self.folder / name, 0, about.note)
        if title is None and not about.metadata and (top := PLAIN_TOP.match(text)):
            title = "" if is_plain(name) else top[1]
        title = title or find_title(name, text, about.metadata)
        characters, pages = self.pages.get(name, (len(text), ()))
        if len(text) != characters:
            message = f"has {len(text):,} characters, not the {characters:,} that its pages are of"
            problems.warn(self.folder / name, 0, f"{message}; hits are told without a page")
            pages = ()
        return Document(
            name,
            text,
            title,
            metadata=about.metadata,
            origin=self.find_origin(name),
            pages=pages,
        )
