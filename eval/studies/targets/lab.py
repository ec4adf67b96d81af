"""The lab that measures targets: it makes runs, experiments and ingestions of pipelines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter

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
from assay.eval.studies.targets.results import MeasuredValue
from assay.retrievers.base import AssayError, Progress, Retriever
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.settings import Settings
from assay.retrievers.store.digest import digest
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing


class PipelineReference(Settings):
    """A config, and what is changed in it."""

    config: str = Field(min_length=1, description="a YAML file beside this one")
    overrides: list[str] = Field(default_factory=list, description="as in retriever.fusion.k=10")


class TargetLab:
    """A lab that makes runs, experiments and ingestions, each once per call of the command.

    All methods raise AssayError if a collection, a model or a server is not available.
    """

    def __init__(
        self,
        pipelines: Mapping[str, PipelineReference],
        configs: Path,
        stored: Path,
        rerun: bool,
        progress: Progress,
    ) -> None:
        """Make a lab.

        Args:
            pipelines: The pipelines without a config file of their own, by name.
            configs: The folder of the configs.
            stored: The folder of the results of experiments.
            rerun: True to make runs and experiments again.
            progress: The progress to report to.
        """
        self._pipelines = pipelines
        self._configs = configs
        self._stored = stored
        self._again = rerun
        self._progress = progress
        self.config = cache(self._read_config)
        self.collection = cache(lambda dataset: load(dataset, progress))
        self.run = cache(self._make_run)
        self.ingest = cache(self._ingest)

    @contextmanager
    def build(self, pipeline: str, dataset: str) -> Iterator[Retriever]:
        """Yield the retriever of a pipeline, not yet indexed."""
        with self.config(pipeline, dataset).build(make_resources()) as retriever:
            yield retriever

    def time_grown(self, pipeline: str, dataset: str, chunks: int) -> Sequence[LatencySample]:
        """Time a pipeline on the passages of a collection, grown to `chunks` with composed ones."""
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

    def encode(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return the vectors of texts by the default encoder, of length 1, one row per text."""
        return EncoderSettings().build(make_resources()).encode_passages(texts)

    def remember(
        self, asked: Any, dataset: str, make: Callable[[], MeasuredValue]
    ) -> MeasuredValue:
        """Return the stored result of an experiment, or make and store it.

        A stored result is used if the request `asked`, as JSON values, the collection, the code and
        the packages are the same; the machine may differ.
        """
        content = self.collection(dataset).digest
        key = digest(asked, content, environment.digest_code(), environment.packages())
        path = self._stored / f"{key}.json"
        with changing(path):
            if not self._again:
                try:
                    return TypeAdapter(MeasuredValue).validate_json(path.read_bytes())
                except (OSError, ValueError):
                    pass
            found = make()
            write_atomically(path, encode_json(asdict(found)))
        return found

    def _make_run(self, pipeline: str, dataset: str) -> StoredRun:
        """Return the stored run of a pipeline; make it if there is none."""
        run = make_run(self.config(pipeline, dataset), self._again, self._progress).run
        assert isinstance(run, StoredRun)
        return run

    def _ingest(self, pipeline: str, dataset: str, rerun: bool) -> Ingestion:
        """Ingest a collection; with `rerun` the cache has nothing but models."""
        return run_ingestion(dataset, self.config(pipeline, dataset), make_resources(), rerun)

    def _read_config(self, pipeline: str, dataset: str) -> RunConfig:
        """Return the config of a pipeline's name. Raises AssayError."""
        path, overrides = self._arguments(pipeline, dataset)
        return load_config(Path(path), overrides)

    def _arguments(self, pipeline: str, dataset: str) -> tuple[str, list[str]]:
        """Return the path of the config of a pipeline's name, and the overrides."""
        named = PipelineReference(config=f"{pipeline}.yaml")
        reference = self._pipelines.get(pipeline, named)
        return str(self._configs / reference.config), [*reference.overrides, f"dataset={dataset}"]
