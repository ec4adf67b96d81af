"""Where targets are measured: pipelines by name become runs, experiments and ingestions."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.collection import Collection
from assay.eval.collections.loading import load
from assay.eval.configs.config import RunConfig, load_config
from assay.eval.configs.resources import make_resources
from assay.eval.running.run import make_run
from assay.eval.running.timed_process import make_contender
from assay.eval.runs import environment
from assay.eval.runs.execution.interleaved_timing import interleave
from assay.eval.runs.execution.searching import sample
from assay.eval.runs.files import encode_json
from assay.eval.runs.latency import LatencySample, measure
from assay.eval.runs.stored import StoredRun
from assay.eval.studies.ingestion.running import forgetful, run_ingestion
from assay.eval.studies.ingestion.summary import Ingestion
from assay.eval.studies.targets import synthetic_corpus as growth
from assay.eval.studies.targets.measurements import Measurement
from assay.eval.studies.targets.results import MeasuredValue
from assay.eval.studies.targets.settings import TargetsSettings
from assay.retrievers.base import AssayError, Progress, Retriever
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing

NOT_MEASURED = {"label", "at_least", "more_than", "at_most", "less_than"}


class ProjectTargetMeasurer:
    """The `TargetMeasurer` of this project. What it made once in a call it gives again."""

    def __init__(
        self,
        settings: TargetsSettings,
        configs: Path,
        stored: Path,
        rerun: bool,
        progress: Progress,
    ) -> None:
        """`configs` is the folder of the configs, `stored` that of what experiments gave.

        `rerun` makes runs and experiments anew.
        """
        self._settings = settings
        self._configs = configs
        self._stored = stored
        self._again = rerun
        self._progress = progress
        self._made: dict[tuple[Any, ...], Any] = {}
        self._seconds: dict[str, float] = {}

    @property
    def seconds(self) -> Mapping[str, float]:
        """What each run and experiment of this call took, by what it is, the longest first."""
        return dict(sorted(self._seconds.items(), key=lambda item: -item[1]))

    def run(self, pipeline: str, dataset: str) -> StoredRun:
        """Return the stored run of a pipeline, made where there is none."""

        def make() -> StoredRun:
            with self._timing(f"run of {pipeline} on {dataset}"):
                run = make_run(self.config(pipeline, dataset), self._again, self._progress).run
            assert isinstance(run, StoredRun)
            return run

        found = self._once(make, "run", pipeline, dataset)
        assert isinstance(found, StoredRun)
        return found

    def collection(self, dataset: str) -> Collection:
        """Return a collection."""
        found = self._once(lambda: load(dataset, self._progress), "collection", dataset)
        assert isinstance(found, Collection)
        return found

    @contextmanager
    def build(self, pipeline: str, dataset: str) -> Iterator[Retriever]:
        """Yield a pipeline, not yet indexed."""
        with self.config(pipeline, dataset).build(make_resources()) as retriever:
            yield retriever

    def time_grown(self, pipeline: str, dataset: str, chunks: int) -> Sequence[LatencySample]:
        """Time a pipeline on the passages of a collection and as many composed ones as it takes."""
        config = self.config(pipeline, dataset)
        with forgetful(make_resources()) as resources:
            passages = growth.compose([growth.read_source(dataset, resources)], chunks)
            growth.embed(growth.find_encoders([config]), passages, resources)
            with config.build(resources) as retriever:
                retriever.index(growth.make_documents(passages))
                queries = [(query.id, query.text) for query in self.collection(dataset).queries]
                timed = measure(retriever, queries, config.depth, config.latency, self._progress)
        return timed.samples

    def interleave(
        self, base: str, pipeline: str, dataset: str
    ) -> tuple[Sequence[float], Sequence[float]]:
        """Return the milliseconds of two pipelines, paired by query, timed interleaved."""
        limits = self.config(pipeline, dataset).latency
        asked = sample(self.collection(dataset).queries, limits.queries)
        chosen = [query.text for query in asked]
        if not chosen:
            raise AssayError(f"{pipeline}: latency.queries is 0, so that there is nothing to time")
        contenders = [make_contender(*self._arguments(name, dataset)) for name in (base, pipeline)]
        return interleave(contenders[0], contenders[1], chosen, limits.seconds, self._progress)[:2]

    def ingest(self, pipeline: str, dataset: str, rerun: bool) -> Ingestion:
        """Ingest a collection; `rerun` finds nothing in the cache but models."""

        def make() -> Ingestion:
            config = self.config(pipeline, dataset)
            return run_ingestion(dataset, config, make_resources(), rerun)

        found = self._once(make, "ingest", pipeline, dataset, rerun)
        assert isinstance(found, Ingestion)
        return found

    def encode(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return the vectors of texts by the default encoder, of length 1, a row each."""
        return EncoderSettings().build(make_resources()).encode_passages(texts)

    def remember(
        self, measurement: Measurement, make: Callable[[], MeasuredValue]
    ) -> MeasuredValue:
        """Return what an experiment gave before, where nothing it depends on has changed."""
        path = self._stored / f"{self._identify(measurement)}.json"
        with changing(path):
            if not self._again:
                try:
                    return MeasuredValue.from_json(json.loads(path.read_bytes()))
                except (OSError, ValueError, KeyError, TypeError):
                    pass
            with self._timing(measurement.describe()):
                found = make()
            write_atomically(path, encode_json(found.as_json()))
        return found

    def config(self, pipeline: str, dataset: str) -> RunConfig:
        """Return the config that a pipeline's name means. Raises AssayError."""
        path, overrides = self._arguments(pipeline, dataset)
        found = self._once(lambda: load_config(Path(path), overrides), "config", pipeline, dataset)
        assert isinstance(found, RunConfig)
        return found

    def _arguments(self, pipeline: str, dataset: str) -> tuple[str, list[str]]:
        reference = self._settings.locate(pipeline)
        overrides = [*reference.overrides, f"dataset={dataset}"]
        return str(self._configs / reference.config), overrides

    @contextmanager
    def _timing(self, what: str) -> Iterator[None]:
        begin = time.monotonic()
        yield
        self._seconds[what] = time.monotonic() - begin

    def _identify(self, measurement: Measurement) -> str:
        """Return the digest of all that an experiment depends on but the machine."""
        parts = [
            measurement.model_dump(exclude=NOT_MEASURED),
            [
                self.config(name, measurement.dataset).model_dump(mode="json")
                for name in measurement.pipelines.values()
            ],
            self.collection(measurement.dataset).digest,
            environment.digest_code(),
            environment.packages(),
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _once(self, make: Callable[[], Any], *key: Any) -> Any:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]
