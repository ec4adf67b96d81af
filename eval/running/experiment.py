"""Experiments: a config, an object or rankings that answer queries, with a collection."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from assay.eval.collections.card import NAME
from assay.eval.collections.collection import Collection
from assay.eval.collections.in_memory import make_collection
from assay.eval.collections.loading import load
from assay.eval.configs.config import DEPTH, make_config
from assay.eval.configs.held_out import check_open
from assay.eval.configs.locations import default_dataset, reports_folder
from assay.eval.configs.named_configs import (
    find_config,
    is_config,
    name_in_engine,
    split_engine,
)
from assay.eval.configs.resources import make_resources
from assay.eval.running.run import make_plan, track, write_report
from assay.eval.runs import environment
from assay.eval.runs.code_identity import name_code
from assay.eval.runs.execution.execution import RunSpec, execute
from assay.eval.runs.execution.python_retrievers import FunctionRetriever, ObjectRetriever
from assay.eval.runs.execution.replay import FAIL, Replay, cover
from assay.eval.runs.generated_answers import list_answers
from assay.eval.runs.latency import LatencySettings
from assay.eval.runs.run_files import RunFile, make_run_file, read_run_file
from assay.eval.runs.stored import StoredRun
from assay.eval.scoring import measures
from assay.retrievers.base import AssayError, Progress, Retriever
from assay.retrievers.foreign.frameworks import adapt
from assay.retrievers.store.paths import parse_path

# Keys of a config that a function, an object and rankings have too.
OPTIONS = ("name", "depth", "limit", "measures")
ALLOWED = (
    "allowed: a config by its path, by its name or as a mapping; a Retriever; a "
    "function f(query, k); an object with .invoke(query) as in LangChain, .retrieve(query) as in "
    "LlamaIndex or .run(query=…) as in Haystack; rankings as a mapping, a DataFrame or a TREC run "
    "file"
)

UNRANKED = (
    "give a mapping with `[]` for a query that finds nothing, or a collection of the others; "
    "of a file, `assay import` with --missing does either"
)


class SystemTypeError(AssayError, TypeError):
    """An object that cannot be run was given to be run."""


@dataclass(frozen=True)
class Experiment:
    """A run to be made: `build` returns the retriever, not yet indexed; `command` is recorded."""

    plan: RunSpec
    collection: Collection
    measures: tuple[str, ...]
    command: tuple[str, ...]
    build: Callable[[], Retriever]


def make_experiment(
    what: Any,
    overrides: Sequence[str],
    collection: Any,
    options: Mapping[str, Any],
    progress: Progress,
    rerun: bool = False,
) -> Experiment:
    """Return the experiment that judges `what` on `collection`, both as in `assay.eval.api.run`.

    `options` are the keys of a config that a function, an object and rankings have too: `name`,
    `depth`, `limit`, `measures`; those that are None are not given. Raises AssayError.
    """
    given = {key: value for key, value in options.items() if value is not None}
    if "measures" in given:
        given["measures"] = measures.check_ranking(given["measures"])
    if collection is not None:
        named = isinstance(collection, str | Path)
        collection = str(collection) if named else find_collection(collection, progress)
        given["dataset"] = collection if isinstance(collection, str) else collection.name
    if (source := _read_source(what)) is None:
        if overrides:
            raise AssayError(f"{overrides[0]}: an override changes a config, and none is given")
        return _judge_object(what, collection, given, rerun, progress)
    settings = make_config(source.values, overrides, source.name, given, source.engine)
    resources = make_resources(progress)
    repeats = source.is_file and not isinstance(collection, Collection)
    laid = (f"{key}={_write(value)}" for key, value in given.items())
    return Experiment(
        plan=make_plan(settings, rerun),
        collection=find_collection(collection or settings.dataset, progress),
        measures=tuple(settings.measures),
        command=("assay" if repeats else "eval", "run", source.name, *overrides, *laid),
        build=lambda: settings.build(resources),
    )


def run_experiment(experiment: Experiment, progress: Progress, *, tracked: bool) -> StoredRun:
    """Make the run of an experiment, or find it, with its exports and its report.

    It is logged to MLflow if it is `tracked`.
    """
    with environment.as_command(*experiment.command):
        run = find_run(experiment, progress)
        summary, _ = write_report(run, experiment.measures)
        if tracked:
            track(summary, progress)
    return run


def find_run(experiment: Experiment, progress: Progress) -> StoredRun:
    """Return the stored run of an experiment, made where there is none."""
    with environment.as_command(*experiment.command), experiment.build() as retriever:
        return execute(
            experiment.plan, retriever, experiment.collection, reports_folder(), progress
        ).run


def find_collection(given: Any, progress: Progress) -> Collection:
    """Return a collection by its name or folder, or of documents, queries and judgments.

    Raises AssayError.
    """
    if isinstance(given, Collection):
        return given
    if isinstance(given, str | Path):
        return load(str(given), progress)
    keys = {"documents", "queries", "judgments"}
    if not isinstance(given, Mapping) or not keys <= set(given) <= {*keys, "name", "permissions"}:
        kind = ", ".join(map(str, given)) if isinstance(given, Mapping) else type(given).__name__
        raise AssayError(
            "collection: must be a name, a folder, a Collection, or a mapping with documents, "
            f"queries, judgments and, optionally, name and permissions; not {kind}"
        )
    return make_collection(**given)


def names_system(reference: str | Path) -> bool:
    """Return True if `reference` is a config or a run file; any other names a stored run."""
    return is_config(str(reference)) or parse_path(reference, "run").is_file()


def name_rankings(systems: Sequence[Any]) -> list[str | None]:
    """Return names for several rankings given as objects, numbered; None for all else."""
    places = [
        i
        for i, what in enumerate(systems)
        if _is_frame(what) or (isinstance(what, Mapping) and not _is_config(what))
    ]
    numbers = {i: number for number, i in enumerate(places, start=1) if len(places) > 1}
    return [f"rankings-{numbers[i]}" if i in numbers else None for i in range(len(systems))]


@dataclass(frozen=True)
class _Source:
    """The values of a config, not yet checked, and their name in messages."""

    values: dict[str, Any]
    name: str
    is_file: bool = False
    engine: str | None = None


def _read_source(what: Any) -> _Source | None:
    """Return the config that `what` is; None where it is none."""
    # Retrievers of LangChain are models of pydantic, too.
    if isinstance(what, BaseModel) and adapt(what) is None:
        return _Source(what.model_dump(mode="json"), type(what).__name__)
    if isinstance(what, str | Path):
        if not is_config(str(what)) and Path(what).is_file():
            return None
        named, engine = split_engine(what)
        path = find_config(named)
        # Where a config that comes with Assay lies is this machine's affair.
        name = name_in_engine(named if path.is_absolute() else str(path), engine)
        return _Source({"base": str(path)}, name, is_file=True, engine=engine)
    if not isinstance(what, Mapping) or not _is_config(what):
        return None
    values = deepcopy(dict(what))
    if isinstance(base := values.get("base"), str | Path):
        values["base"] = str(find_config(base))
    return _Source(values, "config")


def _is_config(what: Mapping[Any, Any]) -> bool:
    """Return True if a mapping is a config: rankings have neither its keys nor single values."""
    singles = (value for value in what.values() if isinstance(value, str | int | float))
    return "base" in what or "retriever" in what or next(singles, None) is not None


def _judge_object(
    what: Any, collection: Any, given: Mapping[str, Any], rerun: bool, progress: Progress
) -> Experiment:
    """Return the experiment for an object that is no config."""
    dataset = given.get("dataset") or default_dataset()
    if not isinstance(collection, Collection):
        check_open(dataset)
    judged = find_collection(collection or dataset, progress)
    for key in ("depth", "limit"):
        if key in given and (type(given[key]) is not int or given[key] < 1):
            raise AssayError(f"{key}: must be a whole number from 1, not {given[key]!r}")
    retriever, kind, called = _make_retriever(what, judged, given.get("limit"), progress)
    # The contract makes a retriever safe to call from several threads; a function promised nothing.
    latency = {
        "object": LatencySettings(),
        "function": LatencySettings(concurrency=1),
        "rankings": LatencySettings(queries=0),
    }[kind]
    name = str(given.get("name") or re.sub(r"[^A-Za-z0-9_.-]+", "_", called).strip("_.-") or kind)
    if not re.fullmatch(NAME, name):
        raise AssayError(
            f"name: {name!r} cannot name a run; allowed: letters, digits, '.', '_' and '-', "
            "a letter or digit first"
        )
    depth, limit = given.get("depth"), given.get("limit")
    wanted = given.get("measures") or measures.list_within(measures.DEFAULT, depth or DEPTH)
    measures.check_ranking(wanted)
    depth = measures.choose_depth(wanted, DEPTH, depth)
    config = {
        "name": name,
        "dataset": dataset,
        "depth": depth,
        "limit": limit,
        "measures": wanted,
        "retriever": {"type": kind, "name": called},
    }
    return Experiment(
        plan=RunSpec(name, config, depth, limit, latency, rerun),
        collection=judged,
        measures=tuple(wanted),
        command=("eval", "run", called, f"dataset={dataset}"),
        build=lambda: retriever,
    )


def _make_retriever(
    what: Any, collection: Collection, limit: int | None, progress: Progress
) -> tuple[Retriever, str, str]:
    """Return the retriever of an object, its kind, and its name."""
    if isinstance(what, Retriever):
        return ObjectRetriever(what), "object", type(what).__name__
    if isinstance(what, type):
        raise SystemTypeError(
            f"{what.__name__}: a class; give an object, {what.__name__}(…); {ALLOWED}"
        )
    if callable(what):
        return FunctionRetriever(what), "function", name_code(what).rpartition(".")[2]
    if framework := adapt(what):
        return framework, "object", type(what).__name__
    file = _read_rankings(what)
    called, *others = file.systems
    if others:
        raise AssayError(
            f"{file.path}: holds the rankings of several systems ({', '.join(file.systems)}); "
            "give a file of one, or make runs of all with `assay import`"
        )
    replay = Replay(file, called, collection)
    _, notes = cover(file, called, collection, FAIL, UNRANKED, limit)
    for note in (*file.notes, *notes):
        progress.say(note)
    return replay, "rankings", called


def _read_rankings(what: Any) -> RunFile:
    if isinstance(what, str | Path):
        return read_run_file(Path(what))
    if isinstance(what, Mapping):
        return make_run_file(what, "rankings")
    if _is_frame(what):
        return make_run_file(list_answers(what), "rankings")
    raise SystemTypeError(f"a {type(what).__name__} cannot be run; {ALLOWED}")


def _is_frame(what: Any) -> bool:
    """Return True for a DataFrame, of pandas or of a library like it."""
    return hasattr(what, "to_dict") and hasattr(what, "columns")


def _write(value: Any) -> str:
    """Return a value as an override writes it."""
    return value if isinstance(value, str) else json.dumps(value)
