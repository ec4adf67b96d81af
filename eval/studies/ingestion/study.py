"""What a pipeline makes of documents before the first query."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from assay.eval.configs.config import load_config
from assay.eval.running.study import Argument, Lab, Option, Study, StudyOptions
from assay.eval.running.study_options import RERUN, Overrides, Reference
from assay.eval.studies.ingestion.baseline import check, metrics
from assay.eval.studies.ingestion.report import report
from assay.eval.studies.ingestion.running import run_ingestion
from assay.eval.studies.ingestion.summary import Ingestion
from assay.eval.tracking.delivery import log_result


class IngestionOptions(StudyOptions):
    """Which documents are taken in by which pipeline, and what that is held against."""

    documents: Annotated[Reference, Argument()]
    overrides: Overrides = ()
    config: Reference = Field("hybrid_rrf", description="The pipeline that takes the documents in.")
    baseline: Annotated[Path | None, Option(metavar="FILE", path="existing")] = Field(
        None, description="Hold it against this ingestion.json; exit with 1 where it is worse."
    )
    rerun: Annotated[bool, RERUN] = Field(
        False, description="Do all of it again; times are measured on this."
    )


def find(asked: IngestionOptions, lab: Lab) -> Ingestion:
    """Convert, chunk, embed and index DOCUMENTS: a folder of files, one file, or a collection.

    Reports sizes, checks and times, and what could not be read. Only files whose content changed
    since the last time are processed again. Overrides change single keys of the config.

    With --baseline it is worse where more documents cannot be rebuilt, more files are skipped, more
    chunks are oversize or beyond the encoder's limit, or a document gives no chunk any more.
    """
    settings = load_config(asked.config, asked.overrides)
    made = run_ingestion(asked.documents, settings, lab.resources, asked.rerun)
    return replace(made, against=check(made, asked.baseline)) if asked.baseline else made


def describe(found: Ingestion) -> dict[str, Any]:
    """Return the figures, what was skipped, and what the baseline says."""
    named = {"ingestion": found.id, "source": found.source, "pipeline": found.pipeline}
    skipped = [asdict(item) for item in found.skipped]
    held = found.against
    against = {"against": {**asdict(held), "fails": held.fails}} if held else {}
    lists = {"skipped_files": skipped, "notes": found.notes}
    return {**named, **found.figures(), **lists, **against}


STUDY = Study(
    "ingest",
    IngestionOptions,
    find,
    report,
    log=lambda found, files, _: log_result(
        report(found), files, found.config, metrics=metrics(found)
    ),
    describe=describe,
    status=lambda found: 1 if found.against and found.against.fails else 0,
)
