"""The Python API: `from eval import run, compare, search, ingest, load_runs, …`.

Objects in, results out: like the command line it is where configs become retrievers, and it reads
the same environment variables. Bad input raises an AssayError with the line that the command line
would print. docs/python.md tells more.

The examples run in a checkout of the project, on its small collection.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from eval import telemetry
from eval.analysis.differences import EFFECT
from eval.collections.collection import Collection
from eval.collections.tables import Table
from eval.frames.comparison import ComparisonResult
from eval.frames.ingestion import IngestionResult
from eval.frames.run import Result
from eval.frames.search import SearchResult
from eval.tracking.reading import TrackedRun
from retrievers.base import AssayError, Retriever

if TYPE_CHECKING:
    from pandas import DataFrame
    from pydantic import BaseModel

    # What can be run: a config, an object, a function, or rankings.
    System: TypeAlias = (
        str
        | Path
        | BaseModel
        | Mapping[Any, Any]
        | Retriever
        | Callable[[str, int], Any]
        | DataFrame
    )
    Judged: TypeAlias = str | Path | Collection | Mapping[str, Any]

telemetry.disable()


def run(
    what: "System",
    *overrides: str,
    collection: "Judged | None" = None,
    measures: Sequence[str] | None = None,
    name: str | None = None,
    depth: int | None = None,
    limit: int | None = None,
    track: bool = True,
    again: bool = False,
) -> Result:
    """Run a retriever on a judged collection, as `assay run` does, and return the stored run.

    Where an equal run is stored, that is returned. A function or an object is measured anew
    unless all that it refers to is known (see `eval.runs.code_identity`).

    Args:
        what: A config by its path, by the name of one in `configs/`, as a mapping (its `base`
            too is a path or a name) or as an object; a `retrievers.base.Retriever`; a function of
            a query and a number of hits that returns (document id, score) or (document id, start,
            end, score); or rankings: `{query id: [(document id, score), …]}`, a DataFrame, or the
            path of a TREC run.
        overrides: Changes to a config, `key.path=value`.
        collection: A name, a folder, a `Collection`, or a mapping with `documents`, `queries`,
            `judgments` and perhaps `name`, as `eval.collections.in_memory` has them; by default
            the config's, or else the default one.
        measures: What is reported, by either name: `Hit@5` or `Success@5`.
        name: What the run is called.
        depth: Hits kept a query; 100 unless the config says otherwise.
        limit: Search only so many queries, evenly spaced.
        track: Log to MLflow; where it does not answer, a line on standard error says so.
        again: Make a new run though an equal one is stored.

    Returns:
        The stored run with its figures as DataFrames.

    Raises:
        AssayError: What is given is wrong, or somebody's function failed; it names the query.

    Examples:
        >>> from eval import run
        >>> small = "dataset=harbourline"
        >>> result = run("bm25", small, "retriever.legs.keyword.k1=0.9", "limit=12", track=False)
        >>> result
        <bm25 on harbourline: nDCG@10 0.536 (0.281 … 0.791), n = 12>
        >>> result.measures.loc[["Hit@10", "nDCG@10"]].round(3)
                  mean    low   high   n
        measure
        Hit@10   0.833  0.516  0.979  12
        nDCG@10  0.536  0.281  0.791  12
        >>> result.hits("q001").loc[1:3, ["document", "grade"]]
                                                    document  grade
        rank
        1     policy/coastal-passenger-carriage-ordinance.md   <NA>
        2     policy/coastal-passenger-carriage-ordinance.md      3
        3                                   api/reference.md   <NA>
        >>> result.attribution["fate"].value_counts()
        fate
        found        18
        below k       9
        in no leg     5
        Name: count, dtype: int64

    """
    from eval.experiments.experiment import make_experiment, run_experiment
    from eval.progress import ConsoleProgress

    progress = ConsoleProgress()
    options = {"name": name, "depth": depth, "limit": limit, "measures": measures}
    experiment = make_experiment(what, overrides, collection, options, progress, again)
    return Result(run_experiment(experiment, progress, tracked=track), experiment.measures)


def compare(
    base: "Result | System | Sequence[Result | System]",
    *others: "Result | System",
    collection: "Judged | None" = None,
    measures: Sequence[str] | None = None,
    effect: float = EFFECT,
    names: Sequence[str] | None = None,
    depth: int | None = None,
    limit: int | None = None,
) -> ComparisonResult:
    """Compare with the first, query by query, as `assay compare` does.

    Args:
        base: What the others are compared with, or a list of all: results, whatever `run` takes
            (run where no equal run is stored, and not logged), or stored runs as `load_runs` names
            them.
        others: The others, unless `base` is a list.
        collection: What is to be run is run on this, as `run` has it.
        measures: What is compared, by either name: `MRR@10` or `RR@10`. By default those of
            `assay compare`.
        effect: The smallest difference that would matter.
        names: What the runs that are made are called, one for each, the base first.
        depth: Hits kept a query, as `run` has it.
        limit: Search only so many queries, as `run` has it.

    Returns:
        Means, paired differences with intervals, and a verdict.

    Raises:
        AssayError: Runs were not judged alike, or what `run` raises.

    Examples:
        >>> from eval import compare, run
        >>> base = run("bm25", "dataset=harbourline", track=False)
        >>> keyword = "retriever.legs.keyword"
        >>> changed = ("name=flat", f"{keyword}.k1=0.4", f"{keyword}.b=0.1")
        >>> flat = run("bm25", "dataset=harbourline", *changed, track=False)
        >>> compared = compare(base, flat)
        >>> compared  # doctest: +ELLIPSIS
        100.0 % of the judgments these measures rest on are a model's (277 of 277; ...
        flat: that nDCG@10 differs presumes that large gains are as rare as large losses: ...
        flat is better than bm25: nDCG@10 rises from 0.480 to 0.504, by +0.024 (95 % interval ...
        >>> compared.differences.loc["flat"].loc["nDCG@10", ["difference", "low", "high"]].round(3)
        difference    0.024
        low           0.006
        high          0.042
        Name: nDCG@10, dtype: float64
        >>> compared.per_query("nDCG@10")["difference.flat"].nlargest(2).round(3)
        query_id
        q029    0.439
        q026    0.198
        Name: difference.flat, dtype: float64

    """
    from eval.experiments.comparison import compare_systems
    from eval.experiments.experiment import find_collection, make_experiment, names_system
    from eval.progress import ConsoleProgress
    from eval.scoring.measures import check_names

    wanted = check_names(measures) if measures is not None else None
    progress = ConsoleProgress()
    systems = [*base, *others] if isinstance(base, list | tuple) else [base, *others]
    if names is not None and len(names) != len(systems):
        raise AssayError(f"names: there are {len(names)} for {len(systems)} runs; give one each")
    if isinstance(collection, Mapping):
        collection = find_collection(collection)
    options = {"depth": depth, "limit": limit}
    found: list[Any] = []
    for at, what in enumerate(systems):
        if isinstance(what, Result):
            found.append(what.stored)
        elif isinstance(what, str | Path) and not names_system(what):
            found.append(load_runs(what)[0].stored)
        else:
            given = {**options, "name": names and names[at]}
            found.append(make_experiment(what, (), collection, given, progress))
    return ComparisonResult(compare_systems(found, wanted, effect, progress))


def search(
    what: "System",
    query: str,
    *overrides: str,
    collection: "Judged | None" = None,
    documents: Table | None = None,
    k: int = 10,
) -> SearchResult:
    """Search for one query, as `assay search` does; nothing is stored.

    Args:
        what: What searches, as `run` has it.
        query: The text of the query.
        overrides: Changes to a config, `key.path=value`.
        collection: What is searched, as `run` has it.
        documents: What is searched instead: {id: text}, a DataFrame, or rows; no judgments needed.
        k: The most hits to return.

    Returns:
        The hits with their spans and scores, and what every step did, as DataFrames. Times of a
        first search hold what is loaded for it.

    Raises:
        AssayError: What is given is wrong, or somebody's function failed.

    Examples:
        >>> from eval import search
        >>> documents = {
        ...     "ferry": "The ferry sails twice a day.",
        ...     "dogs": "Dogs stay on deck.",
        ...     "bikes": "Bicycles travel free of charge.",
        ... }
        >>> search("bm25", "When does the ferry sail?", documents=documents)
        bm25 on in-memory: When does the ferry sail?
        1. ferry 0–28 (0.8659)

    """
    from eval.collections.collection import Query
    from eval.collections.in_memory import make_unjudged
    from eval.experiments.experiment import make_experiment
    from eval.experiments.search import survey
    from eval.experiments.workshop import make_workshop
    from eval.progress import ConsoleProgress
    from eval.runs import searching

    if documents is not None and collection is not None:
        raise AssayError("documents: allowed without a collection only")
    if not isinstance(k, int) or k < 1:
        raise AssayError(f"k: must be a whole number from 1, not {k!r}")
    searched = collection if documents is None else make_unjudged(documents)
    experiment = make_experiment(what, overrides, searched, {}, ConsoleProgress())
    with experiment.build() as retriever:
        searching.index(retriever, experiment.collection)
        asked = Query(repr(query), query)
        ranking = searching.search(retriever, experiment.collection, asked, k)
        around = survey(retriever, experiment.collection.documents, ranking.hits, make_workshop())
    return SearchResult(query, experiment.plan.name, experiment.collection.name, ranking, around)


def ingest(
    documents: str | Path,
    *overrides: str,
    config: str | Path = "hybrid_rrf",
    again: bool = False,
) -> IngestionResult:
    """Convert, cut, embed and index documents, as `assay ingest` does; no report is written.

    Args:
        documents: A folder of files, one file, or a collection by its name or folder.
        overrides: Changes to the config, `key.path=value`.
        config: The pipeline that takes them in, by its path or the name of one in `configs/`.
        again: Find nothing but models in the cache: what times are measured on.

    Returns:
        The figures of all documents, and of each as a DataFrame.

    Raises:
        AssayError: The config or the documents are wrong, or there are none.

    Examples:
        >>> from eval import ingest
        >>> taken = ingest("harbourline", config="combine_split")
        >>> taken
        <harbourline by combine_split: 18 documents, 138 chunks>
        >>> taken.documents[["chunks", "tokens", "combined"]].nlargest(2, "tokens")
                              chunks  tokens  combined
        document
        api/reference.md           8    1789         3
        api/configuration.md       6    1521         3
        >>> taken.figures["tokens"]["max"]
        773

    """
    from eval.experiments.config import load_config
    from eval.experiments.ingestion import run_ingestion
    from eval.experiments.named_configs import find_config
    from eval.experiments.workshop import make_workshop

    settings = load_config(find_config(config), overrides)
    return IngestionResult(run_ingestion(str(documents), settings, make_workshop(), again))


def load_runs(*references: str | Path, reports: str | Path | None = None) -> list[Result]:
    """Return stored runs: those named, in that order, or else all, the newest first.

    Args:
        references: Each the folder of a run, its id, the beginning of one, or its id in MLflow.
        reports: The folder that holds the runs: by default $ASSAY_REPORTS, or `reports` in the
            working directory.

    Returns:
        The runs. Of all, those that this version cannot read are passed over, with a line on
        standard error.

    Raises:
        AssayError: A run is not there, or there are none.

    Examples:
        >>> from eval import load_runs, run
        >>> result = run("bm25", "dataset=harbourline", "limit=12", track=False)
        >>> load_runs(result.id)[0].measures.equals(result.measures)
        True

    """
    from eval.experiments.locations import reports_folder
    from eval.experiments.run_references import find_stored, load_all
    from eval.progress import ConsoleProgress
    from eval.runs.stored import load

    folder = reports_folder() if reports is None else Path(reports)
    if not references:
        return [Result(stored) for stored in load_all(folder, ConsoleProgress())]
    return [Result(load(find_stored(folder, str(reference)))) for reference in references]


def load_tracked_runs(*names: str) -> list[TrackedRun]:
    """Return the runs that MLflow holds, the newest first.

    Nothing but the tracking store is read: $MLFLOW_TRACKING_URI, or `mlflow.db` in the working
    directory.

    Args:
        names: The pipelines whose runs are wanted; without any, all.

    Returns:
        The runs; a table by query is fetched when it is first asked for.

    Raises:
        AssayError: There are none, or none of a pipeline that is named.

    Examples:
        >>> from eval import load_tracked_runs, run
        >>> result = run("bm25", "dataset=harbourline", "limit=12")
        >>> tracked = load_tracked_runs("bm25")[0]
        >>> tracked.id == result.id
        True
        >>> tracked.per_query.equals(result.per_query)
        True

    """
    from eval.tracking.reading import read_tracked

    runs = read_tracked()
    known = sorted({run.name for run in runs})
    for name in names:
        if name not in known:
            raise AssayError(f"{name}: no run of it is tracked; tracked are {', '.join(known)}")
    return [run for run in runs if not names or run.name in names]
