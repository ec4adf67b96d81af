"""A study of the recall and the speed of approximate search."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.eval.running.study import Argument, Lab, Option, Study, StudyOptions
from assay.eval.running.study_options import LARGEST, LIMIT_HELP, Words
from assay.eval.studies.stores.recall.curve import Curve
from assay.eval.studies.stores.recall.report import report
from assay.eval.studies.stores.recall.running import measure_recall
from assay.eval.tracking.delivery import log_result


class RecallOptions(StudyOptions):
    """Which engine, on which collection, with what varied."""

    engine: Annotated[str, Argument()]
    words: Words = ()
    sweep: Annotated[str | None, Option(metavar="KEY=V1,V2,…")] = Field(
        None, description="A setting and its values."
    )
    filters: Annotated[str | None, Option(metavar="SHARE,…")] = Field(
        None, description="Shares of the passages that filters let through."
    )
    limit: int | None = Field(None, ge=1, le=LARGEST, description=LIMIT_HELP)


def find(asked: RecallOptions, lab: Lab) -> Curve:
    """Measure recall and speed of ENGINE's approximate dense search, by a setting or by filters.

    KEY is a setting of the engine's approximate index, as in --sweep ef=8,16,32,64,128, or
    index.nprobes=1,5,20; KEY=VALUE changes others, such as which index it is. For each value:
    recall@10 and recall@100 on the collection's own queries, nDCG@10 of the dense list, p50 and
    p95, with those of exact search beside them.

    With --filters .5,.1,.01 each is also searched among such shares of the passages, drawn at
    random; recall is then against exact search among these. It goes with --sweep or alone.
    """
    varied = asked.sweep, asked.filters
    return measure_recall(asked.engine, asked.words, *varied, asked.limit, lab.resources)


def log(found: Curve, files: Sequence[Path], _lab: Lab) -> str:
    """Send a curve with its files to MLflow; return the run's id. Raises TrackingError."""
    params = {"engine": found.settings, "collection": found.collection}
    return log_result(report(found), files, params)


STUDY = Study("recall", RecallOptions, find, report, log=log)
