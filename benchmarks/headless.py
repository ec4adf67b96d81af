"""Look-ups by number in text without headings: `python -m benchmarks.headless`.

Takes the Markdown of `dccode_t42`, drops the marks of its headings, so that it is plain text, and
looks up every section by its number. Prints how many stand at rank 1 in their own document.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from assay.eval.collections.loading import load
from assay.eval.configs.resources import make_resources
from assay.retrievers.base import AssayError, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.chunkers import StructureChunker
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.documents.structure.identifiers import identify
from assay.retrievers.documents.structure.structure import parse_document
from assay.retrievers.legs.lookups.exact import ExactLeg

COLLECTION = "dccode_t42"
NUMBER = re.compile(r"\S+ [\d.:A-Za-z–-]*\w")


@dataclass(frozen=True, slots=True)
class Lookup:
    """The title of a section and the plain document it stands in."""

    doc_id: str
    title: str


def list_lookups(documents: Sequence[Document]) -> list[Lookup]:
    """Return the numbered sections of Markdown documents."""
    return [
        Lookup(strip(document).id, section.title)
        for document in documents
        for section in parse_document(document).sections
        if identify(section.title).startswith("sec_")
    ]


def strip(document: Document) -> Document:
    """Return a document as plain text, without the marks of its headings."""
    text = re.sub(r"^#+ ", "", document.text, flags=re.M)
    return Document(f"{document.id.removesuffix('.md')}.txt", text)


def count_found(documents: Sequence[Document], lookups: Sequence[Lookup]) -> int:
    """Return how many `lookups` by number find their title first."""
    settings = DocumentSettings(chunker=StructureChunker(type="structure", max_tokens=800))
    prepared = prepare(documents, settings, make_resources())
    corpus, leg = Corpus(prepared.chunks, documents), ExactLeg()
    leg.index(corpus)
    found = 0
    for lookup in lookups:
        number = NUMBER.match(lookup.title)
        hits = leg.search(number[0], 1).candidates if number else []
        chunks = [corpus.chunks[position] for position, _ in hits]
        found += any(
            chunk.doc_id == lookup.doc_id and lookup.title in chunk.text for chunk in chunks
        )
    return found


def main() -> None:
    """Print the count."""
    try:
        documents = load(COLLECTION).documents
    except AssayError as error:
        sys.exit(str(error))
    lookups = list_lookups(documents)
    found = count_found([strip(document) for document in documents], lookups)
    print(f"{COLLECTION} as plain text: {found} of {len(lookups)} sections at rank 1")


if __name__ == "__main__":
    main()
