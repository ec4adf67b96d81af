"""Making runs, and comparing them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from assay.eval.api.stored_runs import load_runs
from assay.eval.studies.comparison.differences import EFFECT
from assay.eval.studies.comparison.frame import ComparisonResult, make_result
from assay.eval.studies.run.frame import RunResult
from assay.retrievers.base import AssayError

if TYPE_CHECKING:
    from assay.eval.api.systems import Judged, System
    from assay.eval.report.result import StudyResult
    from assay.eval.studies.comparison.collections import Collections
    from assay.eval.studies.comparison.held_out.look import HeldOut


def run(
    what: "System",
    *overrides: str,
    collection: "Judged | None" = None,
    measures: Sequence[str] | None = None,
    name: str | None = None,
    depth: int | None = None,
    limit: int | None = None,
    track: bool = True,
    rerun: bool = False,
) -> RunResult:
    """Run a retriever on a judged collection, as `assay run` does, and return the stored run.

    If an equal run of a config or of rankings is stored, that is returned. A function or an object
    is always measured again.

    Args:
        what: A config by its path, by the name of one in `configs/`, as a mapping (its `base`
            too is a path or a name) or as an object; an `assay.retrievers.base.Retriever`; a
            function of a query and a number of hits that returns (document id, score) or (document
            id, start, end, score); a retriever of LangChain (`.invoke`), LlamaIndex (`.retrieve`)
            or Haystack (`.run`); or rankings: `{query id: [(document id, score), …]}`, a
            DataFrame, or the path of a TREC run.
        overrides: Changes to a config, `key.path=value`.
        collection: A name, a folder, a `Collection`, or a mapping with `documents`, `queries`,
            `judgments` and perhaps `name`, as `assay.eval.collections.in_memory` has them; by
            default the config's, or else the default one.
        measures: The measures to report, by either name: `Hit@5` or `Success@5`.
        name: The name of the run.
        depth: Hits kept per query; unless the config says otherwise 100, or as many as the deepest
            measure looks at.
        limit: The number of queries to search, evenly spaced; by default all.
        track: Log to MLflow; if it does not answer, a line on standard error says so.
        rerun: Make a new run though an equal one is stored.

    Returns:
        The stored run with its figures as DataFrames.

    Raises:
        AssayError: An argument is wrong, or a given function failed; it names the query. A
            TypeError if nothing of that kind can be run.

    Examples:
        >>> from assay import run
        >>> small = "dataset=harbourline"
        >>> result = run("bm25", small, "retriever.legs.keyword.k1=0.9", "limit=12", track=False)
        >>> result
        <bm25 on harbourline: nDCG@10 0.536 (0.277 … 0.794), n = 12; 2 warnings in .verdict>
        >>> result.tables["measures"].loc[["Hit@10", "nDCG@10"], ["mean", "n"]].round(3)
                  mean   n
        measure
        Hit@10   0.833  12
        nDCG@10  0.536  12
        >>> result.hits("q001").loc[1:3, ["document", "grade"]]
                                                    document  grade
        rank
        1     policy/coastal-passenger-carriage-ordinance.md   <NA>
        2     policy/coastal-passenger-carriage-ordinance.md      3
        3                                   api/reference.md   <NA>
        >>> result.attribution["status"].value_counts()
        status
        found             18
        ranked too low     9
        in no leg          5
        Name: count, dtype: int64

    """
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.experiment import make_experiment, run_experiment

    progress = ConsoleProgress()
    options = {"name": name, "depth": depth, "limit": limit, "measures": measures}
    experiment = make_experiment(what, overrides, collection, options, progress, rerun)
    return RunResult(run_experiment(experiment, progress, tracked=track), experiment.measures)


@overload
def compare(
    first: "RunResult | System | Sequence[RunResult | System]",
    *others: "RunResult | System",
    base: "RunResult | System | None" = None,
    collection: "Judged | None" = None,
    measures: Sequence[str] | None = None,
    effect: float = EFFECT,
    names: Sequence[str] | None = None,
    depth: int | None = None,
    limit: int | None = None,
    track: bool = False,
    dataset: None = None,
    asked: "str | Path | None" = None,
) -> ComparisonResult: ...


@overload
def compare(
    first: "System | Sequence[System]",
    *others: "System",
    measures: Sequence[str] | None = None,
    effect: float = EFFECT,
    depth: int | None = None,
    limit: int | None = None,
    dataset: "Sequence[Judged]",
) -> "StudyResult[Collections]": ...


@overload
def compare(
    first: "System",
    *others: "System",
    measures: Sequence[str] | None = None,
    depth: int | None = None,
    held_out: Literal[True],
) -> "StudyResult[HeldOut]": ...


def compare(
    first: "RunResult | System | Sequence[RunResult | System]",
    *others: "RunResult | System",
    base: "RunResult | System | None" = None,
    collection: "Judged | None" = None,
    measures: Sequence[str] | None = None,
    effect: float = EFFECT,
    names: Sequence[str] | None = None,
    depth: int | None = None,
    limit: int | None = None,
    track: bool = False,
    dataset: "Sequence[Judged] | None" = None,
    asked: "str | Path | None" = None,
    held_out: bool = False,
) -> "ComparisonResult | StudyResult[Collections] | StudyResult[HeldOut]":
    """Compare query by query, as `assay compare` does.

    Given two, the second is compared with the first. Three or more are ranked, and all pairs of
    them are compared, unless one is named as `base`.

    Args:
        first: One of those compared, or a list of all: results, whatever `run` takes (run where no
            equal run is stored), or stored runs as `load_runs` names them.
        others: The others, unless `first` is a list.
        base: The one that each of the others is compared with, and no others with one another:
            one of those given, or another.
        collection: The collection for those that are run, as in `run`.
        measures: The measures to compare, by either name: `MRR@10` or `RR@10`. By default those of
            `assay compare`.
        effect: The smallest difference that would matter.
        names: The names of new runs, one for each, in their order; a `base` that is not among
            those given comes first. Several rankings without names are numbered.
        depth: Hits kept per query, as in `run`.
        limit: The number of queries to search, as in `run`.
        track: Log the runs that are made to MLflow.
        dataset: Several collections, each as `collection` may be: the second of two pipelines is
            compared with the first on each, and the difference on a new collection is predicted.
        asked: A file of real questions, one a line: the verdict is weighted for their style, too.
        held_out: Ask the questions that the project holds out whether the second of two pipelines
            is better. Each such look counts (`looks.jsonl`).

    Returns:
        The findings: `.verdict`, `.tables["differences"]`, `.per_query(measure)`,
        `.first_hits()`, `.plot()`, `.json()`. For several collections `.tables["effects"]`,
        `.found.combined` and `.found.new`. For held-out questions only `.found.better`.

    Raises:
        AssayError: Runs were not judged alike, or what `run` raises.

    Examples:
        >>> from assay import compare, run
        >>> base = run("bm25", "dataset=harbourline", track=False)
        >>> keyword = "retriever.legs.keyword"
        >>> changed = ("name=flat", f"{keyword}.k1=0.4", f"{keyword}.b=0.1")
        >>> flat = run("bm25", "dataset=harbourline", *changed, track=False)
        >>> compared = compare(base, flat)
        >>> print(compared.verdict.splitlines()[0])  # doctest: +ELLIPSIS
        flat is probably better than bm25 for new questions on these documents: nDCG@10 ...
        >>> compared.tables["differences"][["difference", "p"]].loc["nDCG@10"].round(3)
        difference    0.024
        p             0.000
        Name: nDCG@10, dtype: float64
        >>> compared.per_query("nDCG@10")["difference.flat"].nlargest(2).round(3)
        query_id
        q029    0.439
        q026    0.198
        Name: difference.flat, dtype: float64
        >>> quick = {"limit": 20, "measures": ["nDCG@10"]}
        >>> far = compare("bm25", "semantic", dataset=["harbourline", "tarnwick:dev"], **quick)
        >>> print(far.verdict.splitlines()[1])
        Nothing can be foreseen of a new collection from 2: it takes 3.

    """
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.experiment import (
        find_collection,
        make_experiment,
        name_rankings,
        names_system,
    )
    from assay.eval.running.run import track as log_run
    from assay.eval.running.run import write_report
    from assay.eval.runs.stored import StoredRun
    from assay.eval.scoring.measures import check_names
    from assay.eval.studies.comparison.asked import read_log
    from assay.eval.studies.comparison.running import compare_systems

    wanted = check_names(measures) if measures is not None else None
    progress = ConsoleProgress()
    systems = [*first, *others] if isinstance(first, list | tuple) else [first, *others]
    options = {"depth": depth, "limit": limit}
    if held_out:
        from assay.eval.report.result import StudyResult
        from assay.eval.studies.comparison.held_out.look import look
        from assay.eval.studies.comparison.held_out.look import report as report_look

        asking = [make_experiment(what, (), collection, options, progress) for what in systems]
        answer = look(asking, wanted or (), progress)
        return StudyResult(answer, report_look(answer))
    if dataset is not None:
        from assay.eval.report.result import StudyResult
        from assay.eval.running.experiment import find_run
        from assay.eval.studies.comparison.collections import compare_on_collections
        from assay.eval.studies.comparison.collections_report import report

        found_on = compare_on_collections(
            systems,
            dataset,
            lambda what, on: make_experiment(what, (), on, options, progress),
            lambda made: compare_systems(
                [find_run(each, progress) for each in made], wanted, effect, progress
            ),
        )
        return StudyResult(found_on, report(found_on))
    places = [i for i, what in enumerate(systems) if _is_same(what, base)]
    if base is not None and not places:
        systems, places = [base, *systems], [0]
    if names is not None and len(names) != len(systems):
        raise AssayError(f"names: there are {len(names)} for {len(systems)} runs; give one each")
    if isinstance(collection, Mapping):
        collection = find_collection(collection, progress)
    called = name_rankings(systems) if names is None else names
    found: list[Any] = []
    for i, what in sorted(enumerate(systems), key=lambda item: item[0] not in places):
        if isinstance(what, RunResult):
            found.append(what.stored)
        elif isinstance(what, str | Path) and not names_system(what):
            found.append(load_runs(what)[0].stored)
        else:
            given = {**options, "name": called[i]}
            found.append(make_experiment(what, (), collection, given, progress))
    compared = compare_systems(found, wanted, effect, progress, all_pairs=base is None)
    compared = replace(compared, asked=read_log(Path(asked)) if asked else None)
    if track:
        stored = {run.manifest.id for run in found if isinstance(run, StoredRun)}
        shown = (compared.base, *(pair.other for pair in compared.pairs))
        made = {each.run.manifest.id: each.run for each in shown}
        for run_ in (made[id_] for id_ in made.keys() - stored):
            log_run(write_report(run_)[0], progress)
    return make_result(compared)


def _is_same(what: object, base: object) -> bool:
    """Return True if a compared item is the base; DataFrames cannot be compared by ==."""
    return what is base or (isinstance(what, str | Path) and what == base)
