"""Opening what is to be ingested, and joining what each side knows of it."""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from math import fsum
from pathlib import Path

from assay.eval.collections import find_card, list_cards, loading
from assay.eval.collections.card import FILE
from assay.eval.collections.formats.native import make_document
from assay.eval.collections.problems import Problems
from assay.eval.experiments.config import RunConfig
from assay.eval.runs import environment
from assay.eval.runs.ingestion import DocumentFacts, Ingestion, SkippedFile
from assay.retrievers.base import AssayError, Document
from assay.retrievers.base.ingestion import Ingested
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.documents.converters import MARKITDOWN, AnyConverter
from assay.retrievers.documents.folder import FolderDocument, Skipped, read_place
from assay.retrievers.pipeline.ingestion import ingest
from assay.retrievers.settings import Workshop
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.paths import parse_path

PIPELINE_KEYS = {"name", "description", "documents", "retriever"}


@dataclass(frozen=True)
class Source:
    """Documents to ingest. `files` are those of them, by id, that were read from files.

    `seconds` and `cached` are of their conversion, as `IngestReport` has them.
    """

    name: str
    documents: Sequence[Document]
    files: Mapping[str, FolderDocument] = field(default_factory=dict)
    skipped: Sequence[Skipped] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    cached: tuple[str, ...] = ()


def run_ingestion(
    reference: str, settings: RunConfig, workshop: Workshop, anew: bool = False
) -> Ingestion:
    """Ingest the folder, file or collection that `reference` names by the pipeline of `settings`.

    `anew` finds nothing in the cache but models.
    """
    with forgetful(workshop) if anew else nullcontext(workshop) as used:
        source = open_source(reference, used, settings.documents.converter)
        made = ingest(source.documents, settings, used)
    documents = [
        _describe(document, source.files.get(document.id), item)
        for document, item in zip(source.documents, made.documents, strict=True)
    ]
    now = datetime.now(UTC)
    return Ingestion(
        id=f"ingest-{settings.name}-{source.name}-{now.strftime('%Y%m%dT%H%M%S.%f')[:-3]}",
        created=now.isoformat(timespec="seconds"),
        source=reference,
        pipeline=settings.name,
        config=settings.model_dump(mode="json", include=PIPELINE_KEYS),
        environment=environment.describe(),
        skipped=[SkippedFile(item.path, item.reason, item.kind) for item in source.skipped],
        **vars(made)
        | {
            "documents": documents,
            "seconds": {**source.seconds, **made.seconds},
            "cached": (*source.cached, *made.cached),
        },
    )


def open_source(
    reference: str, workshop: Workshop, converter: AnyConverter | None = None
) -> Source:
    """Return the documents of a collection, or of a folder or file that is none.

    The files of these are read by `converter`, or else by markitdown.
    Raises AssayError when it is neither, or holds no documents.
    """
    if not is_bare(reference):
        card = find_card(reference)
        problems = Problems(strict=True, progress=workshop.progress)
        return Source(
            card.name, loading.list_documents(loading.open_source(card, problems).documents())
        )
    place = Path(reference)
    read = read_place(place, workshop, converter or MARKITDOWN)
    folder = place.parent if place.is_file() else place
    converted = [item.converted for item in read.documents if not item.converted.encoding]
    return Source(
        name=re.sub(r"[^\w.-]+", "-", place.resolve().name).strip("-.") or "folder",
        documents=[
            replace(make_document(item.id, item.converted.text), origin=str(folder / item.path))
            for item in read.documents
        ],
        files={item.id: item for item in read.documents},
        skipped=read.skipped,
        seconds={"convert": fsum(item.seconds for item in converted)},
        cached=("convert",) if converted and all(item.cached for item in converted) else (),
    )


def is_bare(reference: str) -> bool:
    """Say whether `reference` is a folder or file of documents, and no collection.

    Raises AssayError for what can be neither.
    """
    place, named = parse_path(reference, "documents"), list_cards()
    if not place.exists() and reference not in named and ":" not in reference:
        raise AssayError(
            f"{reference}: there is no such folder or file, nor a collection; these are: "
            f"{', '.join(named) or 'none'}{suggest(reference, named)}"
        )
    cards = (FILE, "corpus.jsonl", "corpus.jsonl.gz")
    is_card = place.name == FILE or any((place / name).is_file() for name in cards)
    return place.exists() and reference not in named and not is_card


@contextmanager
def forgetful(workshop: Workshop) -> Iterator[Workshop]:
    """Yield a workshop whose cache knows nothing but models and is removed in the end."""
    with tempfile.TemporaryDirectory(prefix="assay-ingest-") as folder:
        models = workshop.cache.root / "models"
        models.mkdir(exist_ok=True)
        (Path(folder) / models.name).symlink_to(models.absolute(), target_is_directory=True)
        yield replace(workshop, cache=Cache(Path(folder)))


def _describe(document: Document, file: FolderDocument | None, item: Ingested) -> DocumentFacts:
    values = asdict(item)
    if file and not file.converted.encoding and not file.converted.cached:
        values["seconds"] = {"convert": file.converted.seconds, **item.seconds}
    return DocumentFacts(
        **values,
        format=Path(file.path if file else document.id).suffix[1:].upper(),
        bytes=file.converted.size if file else 0,
        encoding=file.converted.encoding if file else "",
        words=len(document.text.split()),
    )
