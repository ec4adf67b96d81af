"""What a sweep would take: what its points share, which are finished, how long others take."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assay.eval.collections.loading import load
from assay.eval.report.formats import count
from assay.eval.running.point_order import name_shared
from assay.eval.running.run_memo import SECONDS, find_stored, of_point, recall_points
from assay.eval.running.runner import PointTask
from assay.retrievers.base import AssayError
from assay.retrievers.models.choice import EncoderChoice
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.pipeline.variants import name_leg
from assay.retrievers.stages.rerank import RerankSettings
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import digest


@dataclass(frozen=True, slots=True)
class SweepEstimate:
    """Numbers of points, and of what is made once for all points that share it.

    `chunkings` are ways to cut the documents of a collection, `indexes` legs on one of these, each
    of which searches once a query, `encodings` encoders of one, `rerankers` models that read each
    pair of query and chunk once. `seconds` are those that the points not `finished` should take, by
    what finished ones took on this machine; None where none is. Reports and timing come on top.
    `absent` says of each collection that cannot be read why not.
    """

    points: int
    chunkings: int
    indexes: int
    encodings: int
    rerankers: int
    finished: int
    seconds: float | None
    absent: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """What is forecast, in words."""
        left = self.points - self.finished
        took = (
            "how long they take is known once a sweep has run one"
            if self.seconds is None
            else f"about {self.seconds:.0f} s by what finished ones took, reports and timing apart"
        )
        return (
            f"{count(self.points, 'point')} share {count(self.chunkings, 'chunking')}, "
            f"{count(self.encodings, 'encoding')} of chunks, and "
            f"{count(self.indexes, 'index', 'indexes')} with their lists"
            + (f"; {count(self.rerankers, 'reranker')}, a pair scored once" * bool(self.rerankers)),
            f"{self.finished} finished, {left} left" + (f": {took}" if left else ""),
            *self.absent,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the forecast as JSON values."""
        return asdict(self)


def forecast(tasks: Sequence[PointTask], cache: Cache, reports: Path) -> SweepEstimate:
    """Return what running `tasks` would take, with the runs stored in `reports` and what is kept.

    Collections are read; nothing is run.
    """
    collections, absent = {}, []
    for name in dict.fromkeys(task.config.dataset for task in tasks):
        try:
            collections[name] = load(name)
        except AssayError as error:
            absent.append(str(error))
    names = [
        of_point(task.config.model_dump(mode="json"), collections[task.config.dataset])
        for task in tasks
        if task.config.dataset in collections
    ]
    found = recall_points(cache, names, SECONDS)
    mean = sum(map(float, found.values())) / len(found) if found else None
    done = found.keys() | find_stored(names, cache, reports)
    finished = sum(name in done for name in names)
    return SweepEstimate(
        points=len(tasks),
        chunkings=len({name_shared(task.config) for task in tasks}),
        indexes=len({one for task in tasks for one in _list_indexes(task)}),
        encodings=len({one for task in tasks for one in _list_encodings(task)}),
        rerankers=len({one for task in tasks for one in _list_rerankers(task)}),
        finished=finished,
        seconds=None if mean is None else mean * (len(tasks) - finished),
        absent=tuple(absent),
    )


def _list_indexes(task: PointTask) -> Iterator[tuple[Any, ...]]:
    retriever = task.config.retriever
    if isinstance(retriever, PipelineSettings):
        for leg in retriever.active.values():
            yield *name_shared(task.config), name_leg(leg)


def _list_encodings(task: PointTask) -> Iterator[tuple[Any, ...]]:
    retriever = task.config.retriever
    if isinstance(retriever, PipelineSettings):
        for leg in retriever.active.values():
            for _, value in leg:
                if isinstance(value, EncoderChoice):
                    yield *name_shared(task.config), digest(value)


def _list_rerankers(task: PointTask) -> Iterator[str]:
    retriever = task.config.retriever
    if isinstance(retriever, PipelineSettings):
        for stage in retriever.stages:
            if isinstance(stage, RerankSettings):
                yield digest(stage.model)
