"""Which points have a stored run, told before anything is indexed."""

from collections.abc import Sequence
from pathlib import Path

from assay.eval.collections.collection import Collection
from assay.eval.running.cached_figures import name_point
from assay.eval.runs.execution.execution import RunOutcome, RunSpec, execute
from assay.eval.runs.execution.searching import Searcher
from assay.eval.runs.manifest import MANIFEST, read_manifest
from assay.retrievers.base import Progress, Retriever
from assay.retrievers.store.cache import Cache

STORED = "stored_points"


def execute_point(
    plan: RunSpec,
    retriever: Retriever,
    collection: Collection,
    reports: Path,
    progress: Progress,
    cache: Cache,
    searcher: Searcher | None = None,
) -> RunOutcome:
    """As `execute`, and note which run it is, for `find_stored`."""
    outcome = execute(plan, retriever, collection, reports, progress, searcher)
    if not retriever.nondeterministic:  # whose runs stand for no new one
        name = name_point(plan.config, collection)
        cache.put_many(STORED, {name: outcome.folder.name.encode()})
    return outcome


def find_stored(points: Sequence[str], cache: Cache, reports: Path) -> set[str]:
    """Return those of `points`, by their names, whose run is in `reports`, whole and finished."""
    noted = cache.get_many(STORED, points)
    return {point for point, run in noted.items() if _is_finished(reports / run.decode())}


def _is_finished(folder: Path) -> bool:
    return (folder / MANIFEST).is_file() and not read_manifest(folder).degraded
