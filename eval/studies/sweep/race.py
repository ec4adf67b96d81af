"""Racing the points of a sweep: searching as many queries of each as its part in it wants."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.loading import load
from assay.eval.running.figures import DroppedPoint
from assay.eval.running.runner import PointTask, Runner
from assay.eval.runs.execution.searching import sample
from assay.eval.scoring.measures import find
from assay.eval.studies.sweep.racing import Race, RaceRules, run_race
from assay.retrievers.base import AssayError, Progress


@dataclass(frozen=True)
class RaceResult:
    """The race on a collection; `drops` are its own, by the places of all tasks."""

    race: Race
    drops: Mapping[int, DroppedPoint]


def race_tasks(
    tasks: Sequence[PointTask], runner: Runner, measure: str, rules: RaceRules, progress: Progress
) -> dict[str, RaceResult]:
    """Race the tasks of each collection; return what became of it by the collection's name.

    What was scored before is found again. Raises AssayError, before anything is searched, where
    scores have no bounds or points do not have the same queries.
    """
    largest = find(measure).change[1]
    if not math.isfinite(largest):
        raise AssayError(f"--racing: scores in {measure} have no bounds; allowed: those that have")
    if rules.effect >= largest:
        raise AssayError(f"--effect: {rules.effect:g} is no effect in {measure}; below {largest:g}")
    places: dict[str, list[int]] = {}
    for i, task in enumerate(tasks):
        places.setdefault(task.config.dataset, []).append(i)
    for name, own in places.items():
        if len({tasks[i].config.limit for i in own}) > 1:
            raise AssayError(f"--racing: points on {name} differ in limit: not the same queries")
    raced = {}
    for name, own in places.items():
        race = _race([tasks[i] for i in own], runner, measure, largest, rules, progress)
        raced[name] = RaceResult(race, {own[place]: drop for place, drop in race.drops.items()})
    return raced


def _race(
    tasks: Sequence[PointTask],
    runner: Runner,
    measure: str,
    largest: float,
    rules: RaceRules,
    progress: Progress,
) -> Race:
    config = tasks[0].config
    collection = load(config.dataset, progress)
    queries = {query.id: query for query in sample(collection.queries, config.limit)}
    order = rules.shuffle(queries)
    scores: dict[int, dict[str, float]] = {i: {} for i in range(len(tasks))}

    def ask(places: Sequence[int], seen: int) -> dict[int, NDArray[np.float64]]:
        return search_all(places) if seen == len(order) else search_more(places, seen)

    def search_all(places: Sequence[int]) -> dict[int, NDArray[np.float64]]:
        done = runner.run([tasks[i] for i in places])
        found = {i: item.result.figures for i, item in zip(places, done, strict=True)}
        return {
            i: np.array([figures.scores[measure][id_] for id_ in order])
            for i, figures in found.items()
            if figures and not figures.degraded
        }

    def search_more(places: Sequence[int], seen: int) -> dict[int, NDArray[np.float64]]:
        begun = max(len(scores[i]) for i in places)
        wanted = [queries[id_] for id_ in order[begun:seen]]
        what = f"racing on {config.dataset}, queries {begun + 1} to {seen} of {len(order)}"
        found = runner.score_first([tasks[i] for i in places], wanted, what)
        for i, fresh in zip(places, found, strict=True):
            scores[i] |= fresh or {}
        return {
            i: np.array(list(scores[i].values()))
            for i, fresh in zip(places, found, strict=True)
            if fresh is not None
        }

    race = run_race(len(tasks), len(order), largest, rules, ask)
    progress.say(f"{len(race.drops)} of {len(tasks)} points on {config.dataset} dropped out")
    return race
