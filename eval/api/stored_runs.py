"""Runs that were made before."""

from pathlib import Path

from assay.eval.studies.run.frame import RunResult
from assay.eval.tracking.reading import TrackedRun
from assay.retrievers.base import AssayError


def load_runs(*references: str | Path, reports: str | Path | None = None) -> list[RunResult]:
    """Return stored runs: those named, in that order, or else all, the newest first.

    Args:
        references: Each the folder of a run, its id, or the beginning of one.
        reports: The folder that holds the runs: by default $ASSAY_REPORTS, or `reports` in the
            working directory.

    Returns:
        The runs. If all are asked for, those that this version cannot read are skipped, with a
        line on standard error.

    Raises:
        AssayError: A run is not there, or there are none.

    Examples:
        >>> from assay import load_runs, run
        >>> result = run("bm25", "dataset=harbourline", "limit=12", track=False)
        >>> load_runs(result.id)[0].tables["measures"].equals(result.tables["measures"])
        True

    """
    from assay.eval.configs.locations import reports_folder
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.run_references import load_all
    from assay.eval.runs.stored import find, load

    folder = reports_folder() if reports is None else Path(reports)
    if not references:
        return [RunResult(stored) for stored in load_all(folder, ConsoleProgress())]
    return [RunResult(load(find(folder, str(reference)))) for reference in references]


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
        >>> from assay import load_tracked_runs, run
        >>> result = run("bm25", "dataset=harbourline", "limit=12")
        >>> tracked = load_tracked_runs("bm25")[0]
        >>> tracked.id == result.id
        True
        >>> tracked.per_query.equals(result.per_query)
        True

    """
    from assay.eval.tracking.reading import read_tracked

    runs = read_tracked()
    known = sorted({run.name for run in runs})
    for name in names:
        if name not in known:
            raise AssayError(f"{name}: no run of it is tracked; tracked are {', '.join(known)}")
    return [run for run in runs if not names or run.name in names]
