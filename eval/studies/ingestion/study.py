"""`assay ingest`: the preparation of documents by a pipeline, before the first query."""

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field

from assay.eval.configs.config import load_config
from assay.eval.running.study import Argument, Lab, Study, StudyOptions
from assay.eval.running.study_options import RERUN, Overrides, Reference
from assay.eval.studies.ingestion.report import report
from assay.eval.studies.ingestion.running import run_ingestion
from assay.eval.studies.ingestion.summary import Ingestion
from assay.eval.tracking.delivery import log_result
from assay.eval.tracking.record import metric_name


class IngestionOptions(StudyOptions):
    """Which documents are taken in by which pipeline."""

    documents: Annotated[Reference, Argument()]
    overrides: Overrides = ()
    config: Reference = Field("hybrid_rrf", description="The pipeline that takes the documents in.")
    rerun: Annotated[bool, RERUN] = Field(
        False, description="Do all of it again; times are measured on this."
    )


def find(asked: IngestionOptions, lab: Lab) -> Ingestion:
    """Convert, chunk, embed and index DOCUMENTS: a folder of files, one file, or a collection.

    Reports sizes, checks and times, and what could not be read. Only files whose content changed
    since the last time are processed again. Overrides change single keys of the config.
    """
    settings = load_config(asked.config, asked.overrides)
    return run_ingestion(asked.documents, settings, lab.resources, asked.rerun)


def describe(found: Ingestion) -> dict[str, Any]:
    """Return the figures and the skipped files as JSON values."""
    named = {"ingestion": found.id, "source": found.source, "pipeline": found.pipeline}
    skipped = [asdict(item) for item in found.skipped]
    return {**named, **found.figures(), "skipped_files": skipped, "notes": found.notes}


def list_metrics(made: Ingestion) -> dict[str, float]:
    """Return the known figures of an ingestion, by their names in MLflow."""
    found = {}
    for key, value in made.figures().items():
        for name, item in value.items() if isinstance(value, dict) else [("", value)]:
            if item is not None:
                found[metric_name(f"ingest/{key}.{name}" if name else f"ingest/{key}")] = item
    return found


STUDY = Study(
    "ingest",
    IngestionOptions,
    find,
    report,
    log=lambda found, files, _: log_result(
        report(found), files, found.config, metrics=list_metrics(found)
    ),
    describe=describe,
)
