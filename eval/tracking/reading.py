"""Runs as MLflow holds them: whoever reaches the tracking store can read them."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assay.eval.runs.latency import TOTAL
from assay.eval.runs.summary.exports import PER_QUERY, frame_queries, read_queries
from assay.eval.runs.summary.summary import PERCENTILES
from assay.eval.scoring.measures import DEFAULT
from assay.eval.statistics.estimates import OpenEstimate, make_estimate
from assay.eval.tracking.local import database
from assay.eval.tracking.record import FIGURES, metric_name
from assay.eval.tracking.store import TrackingError, connect, redact, search, tracking_uri

if TYPE_CHECKING:
    from mlflow.entities import Run
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class TrackedRun:
    """A run in MLflow. Its table by query is fetched when it is first asked for.

    Attributes:
        id: The run that was logged.
        mlflow_run: The run in MLflow.
        name: The name of the pipeline.
        collection: The name of the collection.
        digest: The digest of the collection and its judgments; runs of equal ones compare.
        finished: The time at which the run was finished.
        queries: The number of queries searched.
        sampled: True if they are only some of the collection's queries.
        degraded: True if a part of the pipeline failed.
        config: The resolved config, flat, each value as JSON.
        metrics: The metrics as MLflow has them.
        tracking_uri: The tracking store.

    """

    id: str
    mlflow_run: str
    name: str
    collection: str
    digest: str
    finished: datetime
    queries: int
    sampled: bool
    degraded: bool
    config: Mapping[str, str]
    metrics: Mapping[str, float]
    tracking_uri: str

    @cached_property
    def measures(self) -> "DataFrame":
        """By measure: `mean`, the ends `low` and `high` of its 95 % interval, `n` queries."""
        from assay.eval.report.frames import tabulate_estimates

        wanted = json.loads(self.config.get("measures", "null")) or DEFAULT
        names = {name: metric_name(name) for name in wanted if metric_name(name) in self.metrics}
        means = {
            measure: self._estimate(name, f"measures/{measure}/mean")
            for measure, name in names.items()
        }
        return tabulate_estimates(means, "measure", "mean")

    @cached_property
    def latency(self) -> "DataFrame":
        """By percentile of the total: `ms`, the ends of its interval, `n`; empty if not timed."""
        from assay.eval.report.frames import tabulate_estimates

        names = {f"p{percent}": f"latency_ms/{TOTAL}.p{percent}" for percent in PERCENTILES}
        timed = {
            key: self._estimate(name, f"latency/{TOTAL}/{key}")
            for key, name in names.items()
            if name in self.metrics
        }
        return tabulate_estimates(timed, "percentile", "ms")

    @cached_property
    def per_query(self) -> "DataFrame":
        """By query id: `type`, `text`, a column per measure, and `milliseconds` if timed."""
        with connect(self.tracking_uri) as client, tempfile.TemporaryDirectory() as folder:
            path = client.download_artifacts(self.mlflow_run, PER_QUERY, folder)
            return frame_queries(read_queries(Path(path)))

    def __repr__(self) -> str:
        return f"<{self.name} on {self.collection}, {self.finished:%Y-%m-%d %H:%M}: {self.id}>"

    @cached_property
    def figures(self) -> Mapping[str, tuple[float | None, float | None]]:
        """The ends of the interval of each figure, by its table, row and column.

        Fetched when first asked for; empty if none were sent.
        """
        with connect(self.tracking_uri) as client, tempfile.TemporaryDirectory() as folder:
            if FIGURES not in {item.path for item in client.list_artifacts(self.mlflow_run)}:
                return {}
            path = client.download_artifacts(self.mlflow_run, FIGURES, folder)
            return {
                name: (low, high)
                for name, _, low, high in json.loads(Path(path).read_bytes())["data"]
            }

    def _estimate(self, name: str, figure: str) -> OpenEstimate:
        """Return a metric with the interval that its figure has."""
        low, high = self.figures.get(metric_name(figure), (None, None))
        return make_estimate(self.metrics[name], low, high, self.queries)


def read_tracked() -> list[TrackedRun]:
    """Return the runs of the tracking store, the newest first, one sent twice only once.

    Raises TrackingError, also if the store has none.
    """
    uri = tracking_uri()
    path = database(uri)
    found: dict[str, TrackedRun] = {}
    # Connecting would make the tables of a store that is not there.
    if path is None or path.exists():
        with connect(uri) as client:
            for run in search(client, "tags.`assay.run` LIKE '%'"):
                found.setdefault(run.data.tags["assay.run"], _describe(run, uri))
    if not found:
        raise TrackingError(f"{redact(uri)}: no runs are tracked there; `assay run CONFIG` does it")
    return sorted(found.values(), key=lambda run: (run.finished, run.id), reverse=True)


def _describe(run: "Run", uri: str) -> TrackedRun:
    tags, inputs = run.data.tags, run.inputs.dataset_inputs if run.inputs else []
    profiles = [json.loads(entry.dataset.profile or "{}") for entry in inputs]
    return TrackedRun(
        id=tags["assay.run"],
        mlflow_run=run.info.run_id,
        name=tags["assay.config"],
        collection=tags["assay.collection"],
        digest=next((profile["digest"] for profile in profiles), ""),
        finished=datetime.fromtimestamp(run.info.end_time / 1000, UTC),
        queries=int(run.data.metrics["queries"]),
        sampled=json.loads(tags["assay.sampled"]),
        degraded=json.loads(tags["assay.degraded"]),
        config=run.data.params,
        metrics=run.data.metrics,
        tracking_uri=uri,
    )
