"""The runs that an ablation compares, and the ablation made from them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from assay.eval.configs.config import RunConfig
from assay.eval.running.runner import PointTask, Runner, TaskResult
from assay.eval.runs import environment
from assay.eval.runs.latency import LatencySettings
from assay.eval.runs.stored import load
from assay.eval.runs.summary.claims import Claims
from assay.eval.studies.ablation.analysis import Ablation, Row
from assay.eval.studies.ablation.variants import (
    PipelinePart,
    Settings,
    Variant,
    list_parts,
    plan_removals,
)
from assay.eval.studies.ablation.weighing import (
    TOKENS,
    RunScores,
    VariantRow,
    describe,
    judge,
    weigh,
)
from assay.eval.studies.comparison.differences import describe_symmetry
from assay.eval.tracking.record import Record
from assay.retrievers.base import AssayError
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources, explain_error
from assay.retrievers.store.digest import digest

FULL = "whole"
WARM_UP = 2
SECONDS = 5.0


@dataclass(frozen=True)
class AblationPlan:
    """The variants of a config's pipeline, each timed interleaved on `timed` queries."""

    config: RunConfig
    parts: tuple[PipelinePart, ...]
    removals: tuple[Variant, ...]
    measures: tuple[str, ...]
    timed: int

    @cached_property
    def tasks(self) -> dict[str, PointTask]:
        """The pipelines to run, by name; equal pipelines share the task of the first."""
        made: dict[str, tuple[Settings | None, frozenset[str]]] = {
            FULL: (self.config.retriever.model_dump(mode="json"), frozenset()),
            **{_without(item): (item.settings, item.defaults) for item in self.removals},
        }
        tasks: dict[str, PointTask] = {}
        first: dict[str, PointTask] = {}
        for name, (settings, defaults) in made.items():
            if settings is not None:
                task = PointTask({"pipeline": name}, self._vary(name, settings, defaults))
                alike = digest(task.config.retriever, task.config.documents)
                tasks[name] = first.setdefault(alike, task)
        return tasks

    def _vary(self, name: str, retriever: Settings, defaults: frozenset[str]) -> RunConfig:
        """Return the config of a variant; that of the whole as given, so that its run is found."""
        measures = list(dict.fromkeys([*self.config.measures, *self.measures, TOKENS]))
        values = {**self.config.model_dump(mode="json"), "measures": measures}
        if name != FULL:
            label = re.sub(r"[^\w.]+", "-", f"{self.config.name}-{name}")
            latency = self.config.latency
            values |= {
                "name": label,
                "retriever": dict(retriever),
                "documents": {
                    key: value for key, value in values["documents"].items() if key not in defaults
                },
                "latency": LatencySettings(
                    queries=min(self.timed, latency.queries),
                    warm_up=min(WARM_UP, latency.warm_up),
                    seconds=min(SECONDS, latency.seconds),
                    concurrency=latency.concurrency,
                ).model_dump(),
            }
        return RunConfig.model_validate(values)


def make_plan(config: RunConfig, measures: Sequence[str], timed: int) -> AblationPlan:
    """Return the plan to measure what each part of a config's pipeline adds.

    Raises AssayError if the retriever is not a pipeline of parts.
    """
    if not isinstance(config.retriever, PipelineSettings):
        kind = config.retriever.type
        raise AssayError(f"{config.name}: retriever.type: {kind} has no parts; allowed: pipeline")
    values = config.retriever.model_dump(mode="json")
    parts = list_parts(values, config.retriever.active)
    removals = plan_removals(values, parts, check)
    preparation = list(_list_preparation(config))
    cut = [Variant(part, settings=values, defaults=frozenset({part.kind})) for part in preparation]
    return AblationPlan(
        config=config,
        parts=(*preparation, *parts),
        removals=(*cut, *removals),
        measures=tuple(dict.fromkeys(measures)),
        timed=timed,
    )


def _list_preparation(config: RunConfig) -> Iterator[PipelinePart]:
    """Yield the chunker and the context of the chunks as parts, if they are not the default."""
    documents, plain = config.documents, type(config.documents)()
    if documents.chunker != plain.chunker:
        yield PipelinePart("chunker", 0, documents.chunker.type, "chunker")
    if documents.context != plain.context:
        yield PipelinePart("context", 0, documents.context.source, "context")


def check(retriever: Settings) -> str:
    """Return the fault in the settings of a pipeline, in words; "" if they are valid."""
    try:
        PipelineSettings.model_validate(retriever)
    except ValidationError as error:
        return explain_error(error)
    return ""


def ablate(
    plan: AblationPlan, resources: Resources, reports: Path
) -> tuple[Ablation, list[Record]]:
    """Run every variant, or find its run; return the ablation and the records for MLflow.

    Raises AssayError if the whole pipeline cannot be run; the row of a variant that fails has the
    reason.
    """
    tasks = list({id(task): task for task in plan.tasks.values()}.values())
    runner = Runner(plan.measures[0], resources, reports)
    done = runner.run(tasks)
    done = runner.store(tasks, done, range(len(tasks)))
    by_task = {id(task): one for task, one in zip(tasks, done, strict=True)}
    outcomes = {name: by_task[id(task)] for name, task in plan.tasks.items()}
    if failure := outcomes[FULL].result.failure:
        raise AssayError(f"{plan.config.name}: the {FULL} pipeline: {failure}")
    limits = plan.config.latency.model_copy(update={"queries": plan.timed})
    times = runner.time_together(tasks, done, reports / name_ablation(plan), limits)
    seen = {
        id(one): RunScores.of(load(reports / one.run), figures.scores, times.get(one.identity, ()))
        for one in done
        if (figures := one.result.figures)
    }
    observed = {name: seen[id(one)] for name, one in outcomes.items() if id(one) in seen}
    rows = list(_weigh(plan, outcomes, observed))
    claims = Claims.of(load(reports / observed[FULL].run))
    found = _collect(plan, outcomes, observed, list(judge(rows, claims)), claims)
    return found, list(_name_records(plan, outcomes))


def _name_records(plan: AblationPlan, outcomes: Mapping[str, TaskResult]) -> Iterator[Record]:
    """Yield the MLflow record of each run, named after its first variant."""
    seen = set()
    for name, one in outcomes.items():
        if one.record and one.run not in seen:
            seen.add(one.run)
            yield replace(one.record, name=f"{name}: {plan.config.name}")


def _weigh(
    plan: AblationPlan, outcomes: Mapping[str, TaskResult], observed: Mapping[str, RunScores]
) -> Iterator[VariantRow]:
    """Yield the row of each removal, with its contrasts to the whole pipeline."""
    for item in plan.removals:
        name = _without(item)
        if name in observed:
            yield weigh(item, plan.parts, (observed[name], observed[FULL]), plan.measures)
        else:
            failure = outcomes[name].result.failure if name in outcomes else ""
            yield VariantRow(describe(item, failure))


def _without(item: Variant) -> str:
    """Name a variant by its part and that part's position, as a step may occur twice."""
    return f"without {item.part.kind} {item.part.at + 1} {item.part.name}"


def _collect(
    plan: AblationPlan,
    outcomes: Mapping[str, TaskResult],
    observed: Mapping[str, RunScores],
    rows: Sequence[Row],
    claims: Claims,
) -> Ablation:
    """Return the ablation."""
    full, config = observed[FULL], plan.config
    return Ablation(
        id=name_ablation(plan),
        name=config.name,
        collection=config.dataset,
        queries=len(full.hits),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        environment=environment.describe(),
        measures=plan.measures,
        full=full.run,
        means=_means(outcomes[FULL]),
        removals=tuple(rows),
        claims=claims,
        warnings=_warn(config, list(observed.values()), rows),
    )


def name_ablation(plan: AblationPlan) -> str:
    """Return the id of an ablation; ablations with the same variants have the same id."""
    identity = digest([task.config.model_dump(mode="json") for task in plan.tasks.values()])
    collection = re.sub(r"[^\w.]+", ".", plan.config.dataset).strip(".")
    return f"ablate-{plan.config.name}-{collection}-{identity[:8]}"


def _warn(config: RunConfig, observed: Sequence[RunScores], rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the warnings to show first, each line once."""
    lines = [
        f"{item.run} is degraded on {queries} of {len(item.hits)} queries: {line}"
        for item in observed
        for line, queries in item.degraded.items()
    ]
    sample = [f"a sample: {len(observed[0].hits)} queries"] if config.limit else []
    return tuple(dict.fromkeys([*sample, *lines, *caution(rows)]))


def caution(rows: Sequence[Row]) -> list[str]:
    """Return a line for each row that assumes large gains to be as rare as large losses."""
    return [f"{row.label}: {describe_symmetry(row.presuming)}" for row in rows if row.presuming]


def _means(done: TaskResult) -> dict[str, float]:
    figures = done.result.figures
    return {name: mean.value for name, mean in figures.means.items()} if figures else {}
