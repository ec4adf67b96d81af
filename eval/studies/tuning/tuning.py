"""Tune a config: score every point of a space, and measure the held-out gain of choosing."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.loading import load
from assay.eval.configs.config import RunConfig, load_config
from assay.eval.configs.locations import reports_folder
from assay.eval.report.blocks import Report
from assay.eval.report.files import BESIDE, write_beside
from assay.eval.running.result_files import StoredResult, check_place, write_result
from assay.eval.running.runner import Helpers, PointTask, Runner
from assay.eval.running.search_space import draw
from assay.eval.running.study import Option
from assay.eval.running.study_options import (
    FORCE_HELP,
    LARGEST,
    EngineOptions,
    WorkerOptions,
)
from assay.eval.runs import environment
from assay.eval.runs.execution.searching import sample
from assay.eval.runs.json_form import in_json
from assay.eval.runs.summary.claims import Claims
from assay.eval.scoring.measures import HEADLINE, check_rising
from assay.eval.studies.comparison.query_groups import group
from assay.eval.studies.tuning import tuning_report as reporting
from assay.eval.studies.tuning.forecast import describe_work, time_searches
from assay.eval.studies.tuning.nested_cv import (
    FOLDS,
    REPEATS,
    Design,
    Queries,
    TuningResult,
    tune,
)
from assay.eval.studies.tuning.spaces import (
    Space,
    derive_space,
    parse_space,
    read_space,
    resolve_points,
)
from assay.eval.studies.tuning.tuned_config import render_changes
from assay.eval.tracking.delivery import log_result
from assay.eval.tracking.record import metric_name, with_interval
from assay.retrievers.base import AssayError
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

TUNED = ("retriever.", "documents.")
MOST_POINTS = 500


class TuningOptions(WorkerOptions, EngineOptions):
    """The config to tune, the folds that hold its gain out, and the path of the best config.

    The space is read from the file `space` or from `over`; with neither, it is made for the config.
    `group_by` is as in `assay.eval.studies.comparison.query_groups`; None lets the questions
    decide.
    """

    space: Path | None = Field(None, description="A YAML file of values to try.")
    over: Annotated[tuple[str, ...], Option(metavar="KEY=V1,V2")] = Field(
        (), description="Values to try; repeatable."
    )
    trials: int | None = Field(
        None, ge=1, le=LARGEST, description="Try so many points, drawn at random."
    )
    measure: str = Field(HEADLINE, description="What is to rise.")
    folds: int = Field(FOLDS, ge=2, le=LARGEST, description="Parts the queries are dealt into.")
    repeats: int = Field(REPEATS, ge=1, le=LARGEST, description="How often they are dealt.")
    seed: int = Field(0, ge=0, le=LARGEST, description="What folds and trials are drawn by.")
    group_by: Literal["text", "document"] | None = Field(
        None,
        description="Queries that no fold may part: those of the same words, or also of the same "
        "documents.  [default: document where the verdict is for other documents]",
    )
    output: Path | None = Field(
        None,
        description="The config to write.  [default: tuned/NAME-COLLECTION-SPACE.yaml below the "
        "reports]",
    )
    force: bool = Field(False, description=FORCE_HELP)

    @property
    def design(self) -> Design:
        """The design of the cross-validation."""
        return Design(self.folds, self.repeats, self.seed)


@in_json(config="settings.name", collection="settings.dataset", spread=("tuning",))
@dataclass(frozen=True)
class TunedPipeline:
    """The result of tuning a config.

    Attributes:
        config: The reference of the config as given.
        collection: The name of the collection.
        settings: The config as given.
        space: The space that was searched.
        tuning: The figures.
        best: The best config.
        asked: The digest of the request.
        begin: The time of the start, in ms since 1970.
    """

    config: str
    collection: str
    settings: RunConfig
    space: Space
    tuning: TuningResult
    best: RunConfig
    asked: str
    begin: int

    @property
    def id(self) -> str:
        """The name of its files: the config, the collection, and a space of the user."""
        parts = (self.settings.name, self.collection, self.space.label)
        return re.sub(r"[^A-Za-z0-9_.-]+", ".", "-".join(filter(None, parts)))

    @cached_property
    def environment(self) -> Mapping[str, Any]:
        """The environment: code, packages and machine."""
        return environment.describe()

    @cached_property
    def report(self) -> Report:
        """The report of the tuning."""
        lines = [
            f"space {self.space.source}: {len(self.tuning.points)} of {len(self.space.points)} "
            "points tried",
            *self.space.lines(),
        ]
        return reporting.report(
            self.tuning,
            self.settings.name,
            self.collection,
            lines,
            self.environment,
            self.id,
        )

    def write(self, path: Path, *, named: bool, force: bool) -> tuple[list[Path], str]:
        """Write the best config to `path`, with the figures and a page in the same folder.

        Returns the paths, with that of the page last but one, and a message about an earlier file
        at `path`: see `write_result`.
        """
        said = f"{reporting.describe_gain(self.tuning)}, on {self.settings.dataset}"
        changed = {
            "name": f"{self.settings.name}_tuned",
            "description": f"{said}, by: {environment.command_line()}",
        }
        text = render_changes(path, Path(self.config), self.best.model_copy(update=changed))
        result = StoredResult("tune", self.asked, text)
        path, word = write_result(path, result, BESIDE, named=named, force=force)
        return [path, *write_beside(self, self.report, path)], word


def run_tuning(
    asked: TuningOptions, resources: Resources, helpers: Helpers | None = None
) -> TunedPipeline:
    """Score every point of the space, or a sample, and measure the held-out gain of choosing.

    Points are scored by `helpers`, if given. Raises AssayError before any work starts if a point is
    no valid config.
    """
    begin = int(time.time() * 1000)
    measure = check_rising(asked.measure)
    settings = load_config(asked.reference, asked.changes)
    space = _choose_space(settings, asked)
    points = draw(space.points, asked.trials or MOST_POINTS, asked.design.seed)
    variants = resolve_points(asked.reference, asked.changes, points, settings)
    what = [settings, points, measure, asked.group_by, asdict(asked.design)]
    question = digest("tune", what)
    if asked.output and not asked.force:
        check_place(asked.output, question, BESIDE)
    collection = load(settings.dataset, resources.progress)
    queries = sample(collection.queries, settings.limit)
    configs = [settings, *variants]
    if helpers is None:
        seconds = time_searches(settings, variants, collection, queries, resources)
        told = describe_work(variants, collection, resources, settings, seconds)
        resources.progress.say(f"{told}; --over KEY=V1,V2 names fewer")
    given, *scores = score(configs, measure, resources, helpers)
    parted = part(queries, collection, asked.design.folds, asked.group_by)
    tried = list(zip(points, scores, strict=True))
    tuning = tune(measure, given, tried, parted, asked.design)
    best = settings if tuning.best is None else variants[tuning.best]
    return TunedPipeline(
        asked.reference, collection.name, settings, space, tuning, best, question, begin
    )


def part(
    queries: Sequence[Query], collection: Collection, folds: int, by: str | None = None
) -> Queries:
    """Return the queries with the groups that stay in one fold, and the claims that follow.

    Without `by`, questions on a document stay together if the leading claim is about documents like
    these and there are as many groups as folds. If folds split the questions on a document,
    settings are chosen by that document, so only the claim about these documents is left; if they
    do not, the test is on other documents.
    """
    claims = Claims.of_collection(collection, queries)
    if by is None:
        apart = claims.leading == "documents" and claims.count >= folds
        by = "group" if apart else "text"
    if by != "text":
        claims = replace(claims, documents_are="sample")
    elif not claims.single:
        claims = replace(claims, bound=True)
    kinds = [query.type for query in queries]
    return Queries([query.id for query in queries], kinds, group(queries, collection, by), claims)


def _choose_space(settings: RunConfig, asked: TuningOptions) -> Space:
    if asked.space and asked.over:
        raise AssayError("--space and --over: give one of them")
    if asked.space:
        space = read_space(asked.space)
    else:
        space = parse_space(asked.over) if asked.over else derive_space(settings)
    for key in (key for grid in space.grids for key in grid):
        if not key.startswith(TUNED):
            raise AssayError(f"{key}: cannot be tuned; allowed: keys of retriever and documents")
    return space


def score(
    configs: Sequence[RunConfig], measure: str, resources: Resources, helpers: Helpers | None
) -> list[Mapping[str, float]]:
    """Return the scores per query of each config, on shared chunks and indexes.

    They are stored, so that a killed call resumes. Raises AssayError if a config fails, or a part
    of its pipeline could not do its work.
    """
    alone = [config.model_copy(update={"measures": [measure]}) for config in configs]
    runner = Runner(measure, resources, reports_folder(), stored=False, helpers=helpers)
    found = []
    for done in runner.run([PointTask({}, config) for config in alone]):
        figures = done.result.figures
        if figures is None or figures.degraded:
            raise AssayError(next(iter(figures.degraded)) if figures else done.result.failure)
        found.append(figures.scores[measure])
    return found


def log_tuning(found: TunedPipeline, files: Sequence[Path]) -> str:
    """Send a tuning with its files to MLflow; return the run's id. Raises TrackingError."""
    tuning, config = found.tuning, found.settings.model_dump(mode="json")
    best = {} if tuning.best is None else tuning.points[tuning.best].settings
    return log_result(
        found.report,
        files,
        {**config, "best": dict(best)},
        metrics=metrics(tuning),
        tags={"assay.verdict": tuning.verdict},
        begin=found.begin,
    )


def metrics(tuning: TuningResult) -> dict[str, float]:
    """Return the metrics of a tuning by their names in MLflow."""
    measure = metric_name(tuning.measure)
    return {
        **with_interval(f"given/{measure}", tuning.given),
        **with_interval(f"naive_gain/{measure}", tuning.naive),
        **with_interval(f"held_out_gain/{measure}", tuning.held_out),
        "held_out_gain/p": tuning.p,
        "points": len(tuning.points),
        "queries": tuning.queries,
    }
