"""The effect of a second index build on pipelines whose rankings change with it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from assay.eval.configs.named_configs import is_config
from assay.eval.runs.json_form import by, in_json
from assay.eval.runs.manifest import Manifest
from assay.eval.runs.stored import StoredRun
from assay.eval.statistics.significance import TIE
from assay.eval.studies.gate.baseline import DIGITS
from assay.retrievers.base import Progress, T
from assay.retrievers.store.cache import Cache, Folder

Scores = Mapping[str, Mapping[str, float]]  # by query id and measure


def count_moved(found: "Rebuild") -> int | None:
    """Return the number of queries that moved; None if it is not known."""
    return None if found.scores is None else found.moved


def list_shifts(found: "Rebuild") -> Mapping[str, float] | None:
    """Return the change in each mean; None if it is not known."""
    return None if found.scores is None else found.shifts


@in_json("engines", moved=by(count_moved), shifts=by(list_shifts))
@dataclass(frozen=True)
class Rebuild:
    """The effect of building an index again, for a pipeline that is `nondeterministic`.

    Attributes:
        engines: The engines whose rankings change with the build.
        scores: The scores of a second, cold build; None if there is none.
        moved: The number of queries with another score in it.
        shifts: The absolute change in the mean of each measure.

    """

    engines: tuple[str, ...]
    scores: Scores | None
    moved: int
    shifts: Mapping[str, float]

    @property
    def words(self) -> str:
        """The effect, and its consequences for the verdict, in sentences."""
        begin = f"Rankings of {', '.join(self.engines)} move when the index is built again."
        if self.scores is None:
            return (
                f"{begin} How far is not known of a stored run or of a server, so that no drop and "
                "no single query is judged. Name the config, or let the engine search exactly."
            )
        moves = ", ".join(f"{shift:.3f} in {name}" for name, shift in self.shifts.items())
        return (
            f"{begin} In a second, cold build {self.moved} of {len(self.scores)} queries have "
            f"another score, and the mean moves by {moves}: a drop must exceed that too, a pass "
            "allows for it, and a query is broken only if it is in both builds."
        )


def examine_rebuild(
    target: str,
    overrides: Sequence[str],
    head: StoredRun,
    first: Scores,
    names: Sequence[str],
    progress: Progress,
) -> Rebuild | None:
    """Build the index of `head` a second time, if another build may give other rankings.

    Args:
        target: The config of `head`; or a reference to the run itself, for which nothing is built.
        overrides: The overrides of the config.
        head: The run that is judged.
        first: Its scores by query id and measure, including `names`.
        names: The measures that are scored.
        progress: Reports progress.

    Returns:
        The effect; None if every build gives the same rankings.

    Raises:
        AssayError: The pipeline cannot be run.
    """
    engines = list_moving(head.manifest)
    if not engines:
        return None
    scores = None
    if is_config(target):
        progress.say(f"{', '.join(engines)}: building the index a second time")
        scores = _score_again(target, overrides, engines, names, progress)
    if scores is None:
        return Rebuild(engines, None, 0, {})
    moved = sum(
        any(abs(found[name] - first[query][name]) > TIE for name in names)
        for query, found in scores.items()
    )
    shifts = {
        name: abs(fmean(found[name] - first[query][name] for query, found in scores.items()))
        for name in names
    }
    return Rebuild(engines, scores, moved, shifts)


def list_moving(manifest: Manifest) -> tuple[str, ...]:
    """Return the engines of a run that report that another build may give other rankings."""

    def walk(facts: Any) -> Iterator[str]:
        if isinstance(facts, Mapping):
            if facts.get("nondeterministic") is True:
                yield str(facts.get("engine", "a retriever"))
            for value in facts.values():
                yield from walk(value)
        elif isinstance(facts, list):
            for value in facts:
                yield from walk(value)

    return tuple(dict.fromkeys(walk(manifest.facts)))


class _ColdCache(Cache):
    """The user's cache without the indexes of some engines, which are built in another folder."""

    def __init__(self, cache: Cache, engines: Sequence[str], folder: Path) -> None:
        super().__init__(cache.root)
        self._engines = engines
        self._cold = Cache(folder)
        self.built = False

    def load(
        self, kind: str, key: str, make: Callable[[Path], None], read: Callable[[Path], T]
    ) -> tuple[Folder, T]:
        """Return a folder as the user's cache does; for these engines, a new one."""
        if kind in self._engines:
            self.built = True
            return self._cold.load(kind, key, make, read)
        return super().load(kind, key, make, read)


def _score_again(
    target: str,
    overrides: Sequence[str],
    engines: Sequence[str],
    names: Sequence[str],
    progress: Progress,
) -> Scores | None:
    """Return the scores on indexes that are built again; None if a server holds the indexes."""
    # What builds pipelines, few calls of the gate need.
    from assay.eval.collections.loading import load
    from assay.eval.configs.config import load_config
    from assay.eval.configs.resources import make_resources
    from assay.eval.running.run import make_plan
    from assay.eval.runs.execution.execution import make_ready
    from assay.eval.runs.execution.unstored import search_unstored

    config = load_config(target, overrides)
    collection, plan = load(config.dataset, progress), make_plan(config)
    warm = make_resources(progress)
    with TemporaryDirectory(prefix="assay-rebuild-") as folder:
        cold = _ColdCache(warm.cache, engines, Path(folder))
        with config.build(replace(warm, cache=cold)) as retriever:
            ready = make_ready(plan, retriever, collection)
            if not cold.built:
                return None
            run = search_unstored(plan, retriever, collection, ready, {}, {})
    found = run.score(list(names))
    return {
        query: {name: round(found[name][query], DIGITS) for name in names} for query in run.queries
    }
