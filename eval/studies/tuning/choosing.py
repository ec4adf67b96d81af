"""Choose a pipeline for collections, and judge it on queries that had no part in the choice.

Settings are chosen on one half of the queries. The best is compared with the config as given and
with BM25 alone on the other half, where its lead is not inflated by the choice. Queries that share
a document stay in one half, as long as the halves stay even enough.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.loading import load
from assay.eval.configs.config import RunConfig, load_config
from assay.eval.configs.locations import default_dataset, find_project, reports_folder
from assay.eval.report.files import BESIDE
from assay.eval.report.formats import count
from assay.eval.running.figures import Figures
from assay.eval.running.result_files import check_place
from assay.eval.running.runner import PointTask, Runner
from assay.eval.running.search_space import Point, as_overrides
from assay.eval.running.study import Argument, Option, StudyOptions
from assay.eval.running.study_options import FORCE_HELP, Overrides, Reference, name_dataset
from assay.eval.runs import environment
from assay.eval.runs.execution.searching import sample
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.means import estimate_scores
from assay.eval.runs.summary.returned_tokens import TOKENS, WITHIN
from assay.eval.scoring.measures import HEADLINE, check_rising
from assay.eval.statistics.estimates import SEED
from assay.eval.statistics.groups import Clusters, number_groups
from assay.eval.studies.comparison.collections import CollectionEffect
from assay.eval.studies.comparison.differences import Contrast, judge_claims
from assay.eval.studies.comparison.query_groups import group
from assay.eval.studies.tuning.candidate_search import CandidateSearch, SplitCollection
from assay.eval.studies.tuning.candidates import (
    KEYWORD,
    Configure,
    TextFacts,
    inspect,
    list_stages,
    merge,
)
from assay.eval.studies.tuning.choice import FEWEST, Choice, JudgedPipeline, describe_few
from assay.eval.studies.tuning.forecast import describe_work, time_searches
from assay.eval.studies.tuning.nested_cv import Design, deal
from assay.eval.studies.tuning.shared_choice import JudgedChoice, SharedChoice, join_choices
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

LEAST = 1 / 3  # smallest share of the queries in either half
UNITS = {"s": 1, "m": 60, "h": 3600}
MOST_SECONDS = 3_600_000


def read_duration(given: Any) -> Any:
    """Convert a text such as 90s to seconds; return other values unchanged. Raises ValueError."""
    if not isinstance(given, str):
        return given
    found = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)([smh])", given)
    seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not 0 < seconds <= MOST_SECONDS:
        raise ValueError(f"{given!r} is no time; allowed: as 90s, 10m, 1h")
    return seconds


class ChoiceOptions(StudyOptions):
    """The pipeline to start from, the collections, and the time and latency that may be spent.

    `budget` is the time in seconds after which no candidate that embeds or reranks is begun;
    `max_latency` is in milliseconds per query.
    """

    collection: Annotated[str | None, Argument()] = None
    overrides: Overrides = ()
    dataset: Annotated[tuple[str, ...], Option(metavar="NAME")] = Field(
        (), description="Collection; of several: one pipeline to ship for all of them."
    )
    config: Reference = Field("hybrid", description="What to start from and beat.")
    budget: Annotated[float, BeforeValidator(read_duration), Option(metavar="TIME", text=True)] = (
        Field(
            600,
            gt=0,
            le=MOST_SECONDS,
            description="Embed and rerank for no further candidate after so long: 90s, 10m, 1h.  "
            "[default: 10m]",
        )
    )
    max_latency: Annotated[float | None, Option(metavar="MS")] = Field(
        None,
        gt=0,
        le=1e6,
        description="Allow so many milliseconds a query, and try reranking.",
    )
    measure: str | None = Field(None, description=f"What is to rise.  [default: {HEADLINE}]")
    output: Path | None = Field(
        None,
        description="The config to write.  [default: chosen/CONFIG-COLLECTION.yaml below the "
        "reports]",
    )
    force: bool = Field(False, description=FORCE_HELP)

    def settle(self, progress: Progress) -> "ChoiceOptions":
        """Return the options, completed from the project file, with a message if there is one.

        A collection with "=" is an override instead. Raises AssayError if no collection is named.
        """
        if self.measure and self.datasets and "=" not in (self.collection or ""):
            return self
        settled: dict[str, Any] = {"measure": self.measure or HEADLINE}
        project = find_project()
        if project:
            progress.say(f"settings from {project.source}")
            settled["measure"] = self.measure or (project.measures or [HEADLINE])[0]
        if self.collection is not None and "=" in self.collection and (project or self.dataset):
            settled |= {"collection": None, "overrides": (self.collection, *self.overrides)}
        if self.dataset:
            if settled.get("collection", self.collection) is not None:
                raise AssayError(
                    f"COLLECTION {self.collection} and --dataset: name all by --dataset"
                )
        elif settled.get("collection", self.collection) is None:
            if project is None or project.collection is None:
                raise AssayError(
                    "Missing argument 'COLLECTION'; or name `collection` in assay.toml, for every "
                    "call."
                )
            settled["collection"] = default_dataset()
        return self.model_copy(update=settled)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The collections, in the order given."""
        return self.dataset or ((self.collection,) if self.collection else ())

    @property
    def changes(self) -> tuple[str, ...]:
        """All overrides, with the collections first."""
        return (*map(name_dataset, self.datasets), *self.overrides)


def choose(asked: ChoiceOptions, resources: Resources) -> Choice | SharedChoice:
    """Try candidates on one half of the queries, and judge the best of them on the other.

    On several collections the candidate is chosen that has the highest mean over them.

    Raises AssayError if the config has no dense and BM25 leg, a collection no query, or one of
    several too few or given twice; and before any work if `output` is a different file.
    """
    measure = check_rising(asked.measure or HEADLINE)
    question = digest("choose", asked.config, asked.changes, asked.measure)
    if asked.output and not asked.force:
        check_place(asked.output, question, BESIDE)
    splits = [_split(asked, name, resources) for name in asked.datasets]
    _check_several(splits)
    runner = Runner(measure, resources, reports_folder(), stored=False, kept=len(splits))
    search = CandidateSearch(splits, runner, measure, asked.budget, asked.max_latency, resources)
    texts = [inspect(split.base, split.collection.documents, resources) for split in splits]
    text = TextFacts.join(texts)
    for split in splits:
        _announce(split, text, asked, resources, len(splits) > 1)
    search.run(text)
    if search.best.mean is None:
        base = splits[0].base
        raise AssayError(f"{base.name} on {base.dataset}: {search.trials[0].left_out}")
    judged = [_judge_choice(split, search, runner, measure, question) for split in splits]
    if len(splits) == 1:
        return judged[0].choice
    return join_choices(judged, asked.config, asked.overrides)


def _split(asked: ChoiceOptions, dataset: str, resources: Resources) -> SplitCollection:
    """Return a collection with its queries in halves, after checking that candidates apply."""
    changes = [name_dataset(dataset), *asked.overrides]
    base = load_config(asked.config, changes)
    _check_base(base)
    collection = load(base.dataset, resources.progress)
    queries = sample(collection.queries, base.limit)
    if not queries:
        raise AssayError(
            f"{base.dataset}: has no judged question, so nothing can be chosen; write some with "
            "`assay questions`, or add yours with `assay init`"
        )
    values = base.model_dump(mode="json")

    def configure(point: Point) -> PointTask:
        return PointTask(point, load_config(asked.config, [*changes, *as_overrides(point, values)]))

    return SplitCollection(base, configure, collection, *split_queries(queries, collection))


def _check_several(splits: Sequence[SplitCollection]) -> None:
    """Raise AssayError if one of several collections is given twice, or has too few questions."""
    names = [split.collection.name for split in splits]
    for name, split in zip(names, splits, strict=True):
        if names.count(name) > 1:
            raise AssayError(f"choose: the collection {name} is given twice")
        if len(splits) > 1 and not split.held:
            raise AssayError(
                f"{name}: has {count(len(split.first), 'question')}; choosing on several "
                f"collections needs {FEWEST} of each"
            )


def _announce(
    split: SplitCollection,
    text: TextFacts,
    asked: ChoiceOptions,
    resources: Resources,
    several: bool,
) -> None:
    """Say how many candidates there are, about how long they take, and if questions are few."""
    if not split.held:
        resources.progress.say(describe_few(len(split.first)))
    stages = list_stages(text, rerank=False)
    listed = [merge({stage: item}) for stage, tried in stages for item in tried]
    configs = [split.configure(point).config for point in listed]
    seconds = time_searches(split.base, configs, split.collection, split.first, resources)
    told = describe_work(configs, split.collection, resources, split.base, seconds, "candidate")
    without = "reranking and repeats" if asked.max_latency is not None else "repeats"
    on = f"{split.collection.name}: " if several else ""
    resources.progress.say(
        f"{on}{told}, excluding {without}; embeds for no further one after {asked.budget:,.0f} s"
    )


def _judge_choice(
    split: SplitCollection, search: CandidateSearch, runner: Runner, measure: str, question: str
) -> JudgedChoice:
    """Return the best candidate as judged on the other queries of a collection."""
    points = {"best": search.best.point, "base": {}, "bm25": KEYWORD}
    ran = _run_all(points, split.configure, runner)
    ids = [query.id for query in split.held or split.first]
    scores = {
        name: {id_: figures.scores[measure][id_] for id_ in ids} for name, figures in ran.items()
    }
    contrasts = {
        name: Contrast(measure, "", scores[name], scores["best"])
        for name in ("base", "bm25")
        if points[name] != search.best.point and split.held
    }
    claims = Claims.of_collection(split.collection, [*split.first, *split.held])
    if split.held:
        claims = claims.hold_out(ids, bound=split.grouped_by == "text")
    judged = judge_claims(list(contrasts.values()), claims) if contrasts else []
    choice = Choice(
        config=split.base,
        chosen=split.configure(search.best.point).config,
        measure=measure,
        trials=tuple(search.trials),
        best=search.best,
        chosen_on=len(split.first),
        judged=len(split.held),
        grouped_by=split.grouped_by,
        pipelines={
            name: _judge(figures, measure, ids, claims.cluster(ids))
            for name, figures in ran.items()
        },
        differences={name: item.leading for name, item in zip(contrasts, judged, strict=True)},
        opposite={name: item.opposite for name, item in zip(contrasts, judged, strict=True)},
        claims=claims,
        asked=question,
        environment=environment.describe(),
    )
    effects = {
        name: CollectionEffect.of(split.collection, claims, choice.differences[name], contrast)
        for name, contrast in contrasts.items()
    }
    return JudgedChoice(choice, effects)


def split_queries(
    queries: Sequence[Query], collection: Collection, seed: int = SEED
) -> tuple[list[Query], list[Query], str]:
    """Return the queries to choose by, those to judge by, and the kind of groups kept together.

    The halves are alike in types of query. Queries that share a document stay together, unless that
    leaves less than a third for a half; then queries with the same main document stay together, or
    only those of the same words. With fewer than 30 queries, all are to choose by.
    """
    if len(queries) < FEWEST:
        return list(queries), [], ""
    found: tuple[list[Query], list[Query]] = ([], [])
    for by in ("document", "group", "text"):
        groups = number_groups(group(queries, collection, by))
        design = Design(folds=2, repeats=1, seed=seed)
        folds = deal([query.type for query in queries], groups, design)[0]
        found = ([], [])
        for query, fold in zip(queries, folds, strict=True):
            found[fold].append(query)
        if min(map(len, found)) >= len(queries) * LEAST:
            break
    return *found, by


def _check_base(config: RunConfig) -> None:
    """Raise AssayError unless the candidates apply to a config."""
    retriever = config.retriever
    legs = retriever.legs if isinstance(retriever, PipelineSettings) else {}
    found = {name: leg.type for name, leg in legs.items()}
    if found.get("dense") != "dense" or found.get("keyword") != "bm25":
        raise AssayError(
            f"{config.name}: retriever.legs: `assay choose` starts from a leg `dense` of type "
            "dense and a leg `keyword` of type bm25, as `hybrid` has; for other pipelines there "
            "is `assay tune`"
        )


def _run_all(points: dict[str, Point], configure: Configure, runner: Runner) -> dict[str, Figures]:
    """Return the figures of each named point, all timed interleaved."""
    distinct: list[Point] = []
    for point in points.values():
        if point not in distinct:
            distinct.append(point)
    tasks = [configure(point) for point in distinct]
    ran = runner.time(tasks, runner.run(tasks), reports_folder() / "chosen")
    found = {}
    for name, point in points.items():
        place = distinct.index(point)
        figures = ran[place].result.figures
        if figures is None:
            raise AssayError(f"{tasks[place].label}: {ran[place].result.failure}")
        found[name] = figures
    return found


def _judge(
    figures: Figures, measure: str, asked: Sequence[str], clusters: Clusters | None
) -> JudgedPipeline:
    """Return a pipeline with its means over the queries `asked`, including lengths of texts."""
    means = {
        name: estimate_scores(name, [figures.scores[name][id_] for id_ in asked], clusters)
        for name in dict.fromkeys((measure, TOKENS, WITHIN))
        if name in figures.scores
    }
    return JudgedPipeline(means, figures.latency)
