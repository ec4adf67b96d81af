"""Documents to ingest or search: those of a collection, or of a folder or file without a card."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from pathlib import Path

from assay.eval.collections import loading
from assay.eval.collections.card import FILE
from assay.eval.collections.catalog import find_card, is_collection, list_cards
from assay.eval.collections.formats.native import make_document
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, Document
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.documents.conversion.converters import MARKITDOWN, AnyConverter
from assay.retrievers.documents.conversion.folder import FolderDocument, SkippedFile, read_place
from assay.retrievers.settings import Resources
from assay.retrievers.store.paths import parse_path


@dataclass(frozen=True)
class DocumentSource:
    """Documents to ingest; `files` has, by id, those that were read from files.

    `seconds` and `cached` describe their conversion, as in `IngestReport`.
    """

    name: str
    documents: Sequence[Document]
    files: Mapping[str, FolderDocument] = field(default_factory=dict)
    skipped: Sequence[SkippedFile] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    cached: tuple[str, ...] = ()


def open_source(
    reference: str, resources: Resources, converter: AnyConverter | None = None
) -> DocumentSource:
    """Return the documents of a collection, or of a folder or file without a card.

    The files of these are read by `converter`, or else by markitdown.
    Raises AssayError when it is neither, or holds no documents.
    """
    if not is_bare(reference):
        card = find_card(reference)
        problems = Problems(strict=True, progress=resources.progress)
        return DocumentSource(
            card.name, loading.list_documents(loading.open_source(card, problems).documents())
        )
    place = Path(reference)
    read = read_place(place, resources, converter or MARKITDOWN)
    folder = place.parent if place.is_file() else place
    converted = [item.converted for item in read.documents if not item.converted.encoding]
    return DocumentSource(
        name=re.sub(r"[^\w.-]+", "-", place.resolve().name).strip("-.") or "folder",
        documents=[
            replace(
                make_document(item.id, item.converted.text),
                origin=str(folder / item.path),
                pages=item.converted.pages,
            )
            for item in read.documents
        ],
        files={item.id: item for item in read.documents},
        skipped=read.skipped,
        seconds={"convert": fsum(item.seconds for item in converted)},
        cached=("convert",) if converted and all(item.cached for item in converted) else (),
    )


def is_bare(reference: str) -> bool:
    """Return True if `reference` is a folder or file of documents, and no collection.

    Raises AssayError for what can be neither.
    """
    place, named = parse_path(reference, "documents"), list_cards()
    if not place.exists() and reference not in named and ":" not in reference:
        raise AssayError(
            f"{reference}: there is no such folder or file, nor a collection; these are: "
            f"{', '.join(named) or 'none'}{suggest(reference, named)}"
        )
    is_card = place.name == FILE or is_collection(place)
    return place.exists() and reference not in named and not is_card
