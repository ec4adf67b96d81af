"""A study of an engine's hybrid search: its agreement with its formula, and its quality."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.eval.running.study import Argument, Lab, Study, StudyOptions
from assay.eval.running.study_options import LARGEST, LIMIT_HELP, Words
from assay.eval.studies.stores.parity.report import report
from assay.eval.studies.stores.parity.results import Parity
from assay.eval.studies.stores.parity.running import measure_parity
from assay.eval.tracking.delivery import log_result


class ParityOptions(StudyOptions):
    """Which engine, on which collection."""

    engine: Annotated[str, Argument()]
    words: Words = ()
    limit: int | None = Field(None, ge=1, le=LARGEST, description=LIMIT_HELP)


def find(asked: ParityOptions, lab: Lab) -> Parity:
    """Compare an engine's hybrid search with its stated formula, and with our fusion.

    ENGINE is a type such as qdrant-edge, COLLECTION one of datasets/, KEY=VALUE changes a setting
    of the engine, as in k=2 fusion=dbsf depth.dense=20 exact=false. The engine's two lists are
    fetched separately and fused by its stated formula. The verdict on what it returns: identical,
    identical but for ties, or different. Then the quality of its lists, of its own fusion, and of
    ours (reciprocal ranks, k = 60) of the same lists.

    Exit code: 0 done, whatever the verdict; 2 for an error to fix.
    """
    return measure_parity(asked.engine, asked.words, asked.limit, lab.resources)


def log(found: Parity, files: Sequence[Path], _lab: Lab) -> str:
    """Send a parity with its files to MLflow; return the id of the MLflow run.

    The examples are left out, because ranks of single texts are no metrics. Raises TrackingError.
    """
    params = {"engine": found.settings, "collection": found.collection}
    tags = {"assay.verdict": found.verdict}
    return log_result(report(found), files, params, without=("examples",), tags=tags)


STUDY = Study("parity", ParityOptions, find, report, log=log)
