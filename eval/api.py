"""The Python API: `from eval import run, compare, load_runs, load_tracked_runs`.

Like the command line it is where configs become retrievers, and it does so by that one's functions:
of the judge it alone may import `eval.cli`. It reads the same environment variables, and bad input
raises an AssayError with the line that the command line would print. docs/python.md tells more.

The examples run in a checkout of the project, on its small collection.
"""

from collections.abc import Sequence
from pathlib import Path

from eval import telemetry
from eval.analysis.comparison import DEFAULT
from eval.analysis.differences import EFFECT
from eval.frames.comparison import ComparisonResult
from eval.frames.run import Result
from eval.tracking.reading import TrackedRun
from retrievers.base import AssayError

telemetry.disable()


def run(config: str | Path, *overrides: str, track: bool = True, again: bool = False) -> Result:
    """Run a pipeline on its collection, as `assay run` does, and return the stored run.

    `config` is the path of a YAML file, or the name of one in `configs/`; an override changes a
    key of it. Where an equal run is stored, that is returned, unless `again`. It is logged to
    MLflow unless not to `track`; where MLflow does not answer, a line on standard error says so.

    >>> from eval import run
    >>> small = "dataset=harbourline"
    >>> result = run("bm25", small, "retriever.legs.keyword.k1=0.9", "limit=12", track=False)
    >>> result
    <bm25 on harbourline: nDCG@10 0.493, n = 12>
    >>> result.measures.loc[["Success@10", "nDCG@10"]].round(3)
                 mean    low   high   n
    measure
    Success@10  0.833  0.583  1.000  12
    nDCG@10     0.493  0.294  0.695  12
    >>> result.hits("q001").loc[1:3, ["document", "grade"]]
                                                document  grade
    rank
    1     policy/coastal-passenger-carriage-ordinance.md   <NA>
    2     policy/coastal-passenger-carriage-ordinance.md      3
    3                   policy/conditions-of-carriage.md   <NA>
    >>> result.attribution["fate"].value_counts()
    fate
    found        17
    below k      10
    in no leg     5
    Name: count, dtype: int64
    """
    from eval import report
    from eval.analysis.exports import export
    from eval.experiments.config import load_config
    from eval.experiments.run import make_run
    from eval.experiments.run import track as track_run
    from eval.progress import ConsoleProgress
    from eval.runs import environment

    path = _find_config(config)
    settings = load_config(path, overrides)
    progress = ConsoleProgress()
    with environment.as_command("run", str(path), *overrides):
        result = Result(make_run(settings, again, progress).run, tuple(settings.measures))
        export(result.summary)
        report.write(result.summary)
        if track:
            track_run(result.summary, progress)
    return result


def load_runs(*references: str | Path, reports: str | Path | None = None) -> list[Result]:
    """Return stored runs: those named, in that order, or else all, the newest first.

    A reference is the folder of a run, its id, the beginning of one, or its id in MLflow.
    `reports` holds the runs: by default $ASSAY_REPORTS, or `reports` in the working directory. Of
    all runs, those that this version cannot read are passed over, with a line on standard error.
    Raises AssayError for a run that is not there, and where there are none.

    >>> from eval import load_runs, run
    >>> result = run("bm25", "dataset=harbourline", "limit=12", track=False)
    >>> load_runs(result.id)[0].measures.equals(result.measures)
    True
    """
    from eval.experiments.locations import reports_folder
    from eval.experiments.run_references import find_stored
    from eval.runs.stored import load

    folder = reports_folder() if reports is None else Path(reports)
    if not references:
        return _load_all(folder)
    return [Result(load(find_stored(folder, str(reference)))) for reference in references]


def load_tracked_runs(*names: str) -> list[TrackedRun]:
    """Return the runs that MLflow holds, the newest first: all, or those of the pipelines `names`.

    Nothing but the tracking store is read: $MLFLOW_TRACKING_URI, or `mlflow.db` in the working
    directory. Raises AssayError where there are none.

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


def compare(
    base: Result | str | Path,
    *others: Result | str | Path,
    measures: Sequence[str] = DEFAULT,
    effect: float = EFFECT,
) -> ComparisonResult:
    """Compare runs with `base`, query by query, as `assay compare` does.

    Each is a result, or names a config as `run` has it or else a stored run as `load_runs` has it;
    a config is run where no equal run is stored. `effect` is the smallest difference that would
    matter. Raises AssayError for runs that were not judged alike.

    >>> from eval import compare, run
    >>> base = run("bm25", "dataset=harbourline", track=False)
    >>> changed = ("name=flat", "retriever.legs.keyword.k1=0.4")
    >>> flat = run("bm25", "dataset=harbourline", *changed, track=False)
    >>> compared = compare(base, flat)
    >>> compared  # doctest: +ELLIPSIS
    No difference between flat and bm25 is shown: nDCG@10 is 0.461 against 0.439, ...
    >>> compared.differences.loc["flat"].loc["nDCG@10", ["difference", "low", "high"]].round(3)
    difference    0.022
    low           0.006
    high          0.039
    Name: nDCG@10, dtype: float64
    >>> compared.per_query("nDCG@10")["difference.flat"].nlargest(2).round(3)
    query_id
    q029    0.235
    q055    0.217
    Name: difference.flat, dtype: float64
    """
    from eval.analysis import comparison
    from eval.scoring.measures import check_names

    check_names(measures)
    stored = [_find_run(reference).stored for reference in (base, *others)]
    return ComparisonResult(comparison.compare(stored, measures, effect))


def _find_config(config: str | Path) -> Path:
    """Return the path of a config that is given by its path, or by its name in `configs/`."""
    from eval.experiments.run_references import is_config

    return Path(config) if is_config(str(config)) else Path("configs", f"{config}.yaml")


def _find_run(reference: Result | str | Path) -> Result:
    from eval.experiments.run_references import is_config

    if isinstance(reference, Result):
        return reference
    if is_config(str(reference)) or _find_config(reference).exists():
        return run(reference, track=False)
    return load_runs(reference)[0]


def _load_all(folder: Path) -> list[Result]:
    from eval.progress import ConsoleProgress
    from eval.runs.stored import MANIFEST, load

    progress, found = ConsoleProgress(), []
    for path in folder.glob(f"*/{MANIFEST}"):
        try:
            found.append(Result(load(path.parent)))
        except AssayError as error:
            progress.say(f"assay: passed over: {error}")
    if not found:
        raise AssayError(f"{folder}: no stored runs here; `assay run CONFIG` makes one")
    return sorted(found, key=lambda result: (result.created, result.id), reverse=True)
