"""The run of an ingestion: opens the documents, and joins the facts on files and on chunks."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from assay.eval.configs.config import RunConfig
from assay.eval.running.sources import open_source
from assay.eval.runs import environment
from assay.eval.studies.ingestion.summary import DocumentFacts, Ingestion, SkippedFile
from assay.retrievers.base import Document
from assay.retrievers.base.ingestion import DocumentReport
from assay.retrievers.documents.conversion.folder import FolderDocument
from assay.retrievers.pipeline.ingestion import ingest
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

PIPELINE_KEYS = {"name", "description", "documents", "retriever"}


def run_ingestion(
    reference: str, settings: RunConfig, resources: Resources, rerun: bool = False
) -> Ingestion:
    """Ingest the folder, file or collection that `reference` names by the pipeline of `settings`.

    With `rerun` nothing but models is taken from the cache.
    """
    with forgetful(resources) if rerun else nullcontext(resources) as used:
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


@contextmanager
def forgetful(resources: Resources) -> Iterator[Resources]:
    """Yield resources with a temporary cache that holds nothing but models."""
    with tempfile.TemporaryDirectory(prefix="assay-ingest-") as folder:
        models = resources.cache.root / "models"
        models.mkdir(exist_ok=True)
        (Path(folder) / models.name).symlink_to(models.absolute(), target_is_directory=True)
        yield replace(resources, cache=Cache(Path(folder)))


def _describe(
    document: Document, file: FolderDocument | None, item: DocumentReport
) -> DocumentFacts:
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
