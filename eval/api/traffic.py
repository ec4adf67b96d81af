"""Studies of searches that people made, as functions."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay.eval.report.result import StudyResult

if TYPE_CHECKING:
    from assay.eval.studies.traces.period_comparison import TrafficDrift
    from assay.eval.studies.traces.reading import TraceReading


def read_traces(
    *sources: str | Path,
    dataset: str | None = None,
    output: str | Path | None = None,
    consent: bool = False,
    name: str = "traces",
) -> "StudyResult[TraceReading]":
    """Say what traces of a system hold, and write its rankings, as `assay traces read` does.

    Args:
        sources: Files of traces, or `mlflow:EXPERIMENT`.
        dataset: A collection: only its queries are read, by its own ids and texts.
        output: A new folder for `run.jsonl`, which `assay import` judges; by default none is made.
        consent: Write the texts of queries too, masked.
        name: The name of the system.

    Returns:
        The findings: `.verdict`, and by step `.tables["steps"]`.

    Raises:
        AssayError: A source cannot be read or holds no search, or the folder is there already.

    Examples:
        >>> from assay import read_traces
        >>> found = read_traces("tests/samples/langfuse_traces/spans.json")
        >>> list(found.tables["steps"].index)
        ['vectors', 'rerank (inferred)']

    """
    from assay.eval.progress import ConsoleProgress
    from assay.eval.studies.traces.reading import read
    from assay.eval.studies.traces.report import report_reading

    folder = Path(output) if output else None
    found = read(_list_names(sources), dataset, folder, consent, name, ConsoleProgress())
    return StudyResult(found, report_reading(found))


def drift(
    *sources: str | Path,
    at: datetime | None = None,
    dataset: str | None = None,
    region: str | None = None,
) -> "StudyResult[TrafficDrift]":
    """Say what moved between two periods of traffic, as `assay traces drift` does.

    Args:
        sources: Two sources of traces, the earlier first; or any number with `at`.
        at: When the later period begins; without a time zone it is in UTC.
        dataset: A judged collection: what its queries stand for, and what to judge next.
        region: A country, such as `DE`, whose telephone numbers are masked.

    Returns:
        The findings: `.verdict`, `.tables["moved"]`, `.tables["others"]` and `.tables["next"]`,
        as far as there is something in them. `.write(folder)` stores masked texts of queries.

    Raises:
        AssayError: A source cannot be read, or a period has too few searches.

    Examples:
        >>> from assay import drift
        >>> drift("june.jsonl", "july.jsonl").tables["moved"]  # doctest: +SKIP

    """
    from assay.eval.configs.resources import make_resources
    from assay.eval.studies.traces.period_comparison import compare
    from assay.eval.studies.traces.report import report_drift

    moment = at.replace(tzinfo=UTC) if at and at.tzinfo is None else at
    found = compare(_list_names(sources), moment, dataset, region, make_resources())
    return StudyResult(found, report_drift(found))


def _list_names(sources: Sequence[str | Path]) -> list[str]:
    return [str(source) for source in sources]
