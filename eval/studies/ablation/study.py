"""`assay ablate`: the quality that each part of a pipeline adds, and the time it costs."""

from typing import Annotated

from pydantic import Field

from assay.eval.cluster.distribution import distribute
from assay.eval.configs.config import load_config
from assay.eval.running.study import Lab, Preview, Study
from assay.eval.running.study_options import (
    LARGEST,
    MEASURES,
    MEASURES_HELP,
    EngineOptions,
    Names,
    WorkerOptions,
)
from assay.eval.studies.ablation import analysis
from assay.eval.studies.ablation.analysis import Ablation
from assay.eval.studies.ablation.report import report
from assay.eval.studies.ablation.running import AblationPlan, ablate, make_plan
from assay.eval.studies.ablation.weighing import describe
from assay.eval.tracking.parent_run import log_records

DESCRIBED = ("part", "kind", "along", "refusal")


class AblationOptions(WorkerOptions, EngineOptions):
    """Which pipeline, and by what its parts are measured."""

    measures: Annotated[Names, MEASURES] = Field(analysis.MEASURES, description=MEASURES_HELP)
    timed: int = Field(
        5, ge=0, le=LARGEST, description="Queries on which all variants are timed interleaved."
    )
    dry_run: bool = Field(False, description="List the variants and run nothing.")


def preview(asked: AblationOptions, _: Lab) -> Preview | None:
    """List the variants."""
    if not asked.dry_run:
        return None
    rows = list(map(describe, _plan(asked).removals))
    return Preview(
        {"removals": [{key: getattr(row, key) for key in DESCRIBED} for row in rows]},
        [f"{row.label}{': ' * bool(row.refusal)}{row.refusal}" for row in rows],
    )


def find(asked: AblationOptions, lab: Lab) -> Ablation:
    """Measure what each query step, leg and stage of CONFIG adds and costs.

    Runs the pipeline, and the pipeline without each part. A part goes with the parts that need it;
    its row says so. Differences are paired by query. Each variant is a stored run: after a kill the
    same call goes on, and one that was made before is not made again.

    Exit code: 0 all variants ran, 1 some failed, 2 the pipeline cannot be run.
    """
    plan = _plan(asked)
    with distribute(asked.ray, lab.progress, asked.ray_gpus) as pool:
        resources = pool.resources if pool else lab.resources
        found, records = ablate(plan, resources, lab.reports)
    lab.records.extend(records)
    return found


def _plan(asked: AblationOptions) -> AblationPlan:
    return make_plan(load_config(asked.reference, asked.changes), asked.measures, asked.timed)


STUDY = Study(
    "ablate",
    AblationOptions,
    find,
    report,
    preview=preview,
    log=lambda found, _, lab: log_records(lab.records, lab.reports / found.id, lab.progress),
    logged="mlflow_parent",
    status=lambda found: 1 if found.failed else 0,
)
