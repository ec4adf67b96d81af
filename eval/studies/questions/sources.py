"""The documents of a folder or a collection that questions are asked about, as passages."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

from assay.eval.collections.authoring.author import Origin, slug
from assay.eval.collections.catalog import find
from assay.eval.collections.formats.native import NativeCard, NativeSource
from assay.eval.collections.loading import open_source
from assay.eval.collections.location import find_data
from assay.eval.collections.problems import Problems
from assay.eval.collections.traits import split_words
from assay.eval.running.sources import is_bare
from assay.eval.studies.questions.drawing import Passage
from assay.retrievers.base import AssayError, Chunk, Document
from assay.retrievers.base.markdown import TEXT_SUFFIX
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.chunkers.simple import SectionChunker
from assay.retrievers.documents.conversion.folder import SkippedFile, read_folder
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.legs.graph import load_edges
from assay.retrievers.settings import Resources

LEAST = 12  # least words of a passage that can be asked about
SEPARATE = {"frontmatter", "header"}  # kinds of chunks without a statement of their own


@dataclass(frozen=True)
class QuestionSource:
    """Documents by id, their origin for a collection, and the `skipped` files without text."""

    name: str
    origin: Origin
    documents: Mapping[str, Document]
    skipped: Sequence[SkippedFile] = ()


@dataclass(frozen=True)
class PassagePool:
    """The passages that may be drawn, and by the id of each the ids to compare it with.

    `short` is the number of chunks left out: too short, or of a kind without a statement.
    """

    passages: Sequence[Passage]
    partners: Mapping[str, Sequence[str]]
    short: int


def open_documents(reference: str, resources: Resources) -> QuestionSource:
    """Return the documents of a folder or a collection, in the form of a native collection.

    Documents of a native collection stay in their files. Those of other formats become plain texts:
    title, then text. Raises AssayError.
    """
    if is_bare(reference):
        folder = Path(reference)
        read = read_folder(folder, resources)
        origin = Origin.from_folder(folder, read)
        name = slug(folder.resolve().name)
        return QuestionSource(name, origin, origin.read(), read.skipped)
    card, _ = find(reference)
    if isinstance(card, NativeCard):
        source = NativeSource(card, find_data(card), Problems(strict=True))
        if source.changes:
            raise AssayError(
                f"{reference}: files of its documents have changed since their text was copied; "
                f"run `assay dataset sync {reference}` first"
            )
        found = source.documents() if card.pages else {}
        pages = {name: document.pages for name, document in found.items()}
        origin = Origin(find_data(card) / card.documents, language=card.language, pages=pages)
    else:
        found = open_source(card, Problems(strict=True)).documents()
        folder = find_data(card) if card.has_folder else Path(card.name)
        origin = Origin(folder, _write_texts(found), card.language)
    return QuestionSource(card.name, origin, origin.read())


def cut_passages(documents: Sequence[Document], resources: Resources) -> PassagePool:
    """Return the sections of `documents`, cut to size, or the passages that they prescribe.

    The partners of a passage are those that it refers to, those that refer to it, and its
    neighbours in the document, each in another section. Raises AssayError if no passage is left to
    ask about.
    """
    settings = DocumentSettings(chunker=SectionChunker())
    corpus = Corpus(prepare(documents, settings, resources).chunks, documents)
    passages = {
        chunk.id: _make_passage(chunk)
        for chunk in corpus.chunks
        if chunk.kind not in SEPARATE and len(split_words(chunk.text)) >= LEAST
    }
    if not passages:
        raise AssayError(f"no passage has {LEAST} words or more, so there is nothing to ask about")
    partners: dict[str, dict[str, None]] = defaultdict(dict)
    chunks = corpus.chunks
    _, edges = load_edges(corpus, resources)
    pairs = [(chunks[one].id, chunks[other].id) for one, other, _ in edges]
    for positions in corpus.by_document.values():
        own = [chunks[i].id for i in positions if chunks[i].id in passages]
        pairs += pairwise(own)
    for one, other in pairs:
        known = one in passages and other in passages
        if known and passages[one].section != passages[other].section:
            partners[one][other] = partners[other][one] = None
    return PassagePool(
        list(passages.values()),
        {name: list(others) for name, others in partners.items()},
        len(chunks) - len(passages),
    )


def _make_passage(chunk: Chunk) -> Passage:
    headings = chunk.headings or ((chunk.title,) if chunk.title else ())
    return Passage(chunk.id, chunk.doc_id, chunk.start, chunk.end, chunk.text, headings)


def _write_texts(documents: Mapping[str, Document]) -> dict[str, str]:
    """Return the texts of documents by file name; the names are unique."""
    return {
        f"{quote(name, safe='-_ ')}{TEXT_SUFFIX}": _write_text(document)
        for name, document in documents.items()
    }


def _write_text(document: Document) -> str:
    title = document.title.strip()
    return document.text if not title or title in document.text else f"{title}\n\n{document.text}"
