"""`assay ablate`: the quality that each part of a pipeline adds, and the time it costs."""

from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Annotated
from urllib.parse import quote

from pydantic import Field

from assay.eval.cluster.distribution import distribute
from assay.eval.configs.config import load_config
from assay.eval.report.blocks import Block, Cell, Column, Plot, Prose, Report, Table, Tone
from assay.eval.report.formats import adjusted, count
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
from assay.eval.studies.ablation.analysis import Ablation, Row
from assay.eval.studies.ablation.running import AblationPlan, ablate, make_plan
from assay.eval.studies.ablation.weighing import describe
from assay.eval.studies.comparison.differences import Difference
from assay.eval.tracking.parent_run import log_records

DESCRIBED = ("part", "kind", "along", "refusal")


class AblationOptions(WorkerOptions, EngineOptions):
    """A pipeline, and the measures of its parts."""

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


TITLE = "What each part adds to the whole"
NOTE = (
    "The whole pipeline minus the pipeline without the part, and without what cannot be without "
    "it. Times of the part are those within the whole pipeline. The band marks the smallest "
    "detectable difference."
)
P95 = Column("p95_ms", "p95 ms", "ms", lambda row: row.own and row.own.p95)


def report(found: Ablation) -> Report:
    """Return the report of an ablation."""
    return Report(
        id=found.id,
        kind="ablation",
        title=found.name,
        subject=(
            f"on {found.collection}",
            count(found.queries, "query", "queries"),
            count(len(found.removals), "part"),
            found.created,
        ),
        verdict=[*found.conclusions, found.claims.sentence],
        warnings=[*found.warnings, *(f"{row.label}: {row.finding}" for row in found.failed)],
        blocks=[
            _show_whole(found),
            *_show_parts(found.removals, found.measures),
            Prose("Tests and times", _explain(found)),
        ],
        environment=found.environment,
    )


def _show_whole(found: Ablation) -> Table:
    """Return the means of the whole pipeline."""
    columns = [
        Column("pipeline", "Pipeline", value=lambda _: found.name),
        *(Column(name, name, "score", itemgetter(name)) for name in found.measures),
        Column("run", "Run", value=lambda _: "report", link=lambda _: _address(found.full)),
    ]
    return Table("means", "The whole pipeline", columns, [found.means], brief=False)


def _show_parts(rows: Sequence[Row], measures: Sequence[str]) -> Iterator[Block]:
    """Yield tables of the rows: their differences, their costs, and the findings in words."""
    if not rows:
        return
    first = measures[0]
    columns = [
        Column("part", "Part", value=lambda row: row.label),
        Column(first, first, "difference", partial(_find, 0), tone=partial(_colour, 0)),
        Column("p", "p", "p", lambda row: row.differences[0].reported_p),
        *(
            Column(name, name, "difference", partial(_find, i), False, partial(_colour, i))
            for i, name in enumerate(measures)
            if i
        ),
        P95,
    ]
    costs = [
        columns[0],
        Column("changed", "Changed", "count", lambda row: row.changed_top),
        Column("tokens", "Tokens", "change"),
        Column("p50_ms", "p50 ms", "ms", lambda row: row.own and row.own.p50),
        P95,
        Column("total_ms", "In all, ms", "ms change", lambda row: row.total),
        Column(
            "run", "Run", value=lambda row: row.run and "report", link=lambda row: _address(row.run)
        ),
    ]
    measured = [row for row in rows if row.differences]
    band = Plot(first, band=lambda row: row.differences[0].detectable)
    yield Table("removals", TITLE, columns, measured, NOTE, band)
    yield Table("removals_costs", f"{TITLE}: changes and costs", costs, measured, brief=False)
    words = [Column("label", "Part"), Column("finding", "In words")]
    yield Table("removals_words", f"{TITLE}, in words", words, rows)


def _find(i: int, row: Row) -> Cell:
    item: Difference = row.differences[i]
    value = item.difference.value
    return type(item.interval)(value, item.interval.low, item.interval.high, item.n)


def _colour(i: int, row: Row) -> Tone:
    verdict = row.differences[i].verdict
    return verdict if verdict in ("better", "worse") else ""


def _address(run: str) -> str:
    return f"../{quote(run)}/report.html" if run else ""


def _explain(found: Ablation) -> str:
    together = adjusted(found.tests, "of all parts together")
    timed = (
        "“In all” is the median difference of the whole search over the queries timed with and "
        "without the part: it includes what the part makes other steps cost. All pipelines were "
        "timed interleaved in one job: each answered each query in turn."
        if found.timed
        else "Nothing was timed interleaved."
    )
    return (
        "Each variant is a stored run with a report of its own. Differences are paired by query. "
        f"p-values are of the randomisation test{', ' * bool(together)}{together}. The 95 % "
        "interval beside a p-value is simultaneous: it holds for all these differences at once; "
        "beside none it is of the difference by itself. Those of times are exact, each by itself. "
        "“Nothing that these queries can show” does not mean that a part adds nothing: a "
        "difference within the band is often missed. Changed: queries whose first ten hits "
        "differ. Tokens: by how many the first ten hits grow. p50 and p95 are of the part itself, "
        f"by the traces. {timed}"
    )


STUDY = Study(
    "ablate",
    AblationOptions,
    find,
    report,
    preview=preview,
    previewed={"removals": [{"part": str, "kind": str, "along": [str], "refusal": str}]},
    log=lambda found, _, lab: log_records(lab.records, lab.reports / found.id, lab.progress),
    logged="mlflow_parent",
    status=lambda found: 1 if found.failed else 0,
)
