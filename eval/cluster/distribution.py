"""Work given to a cluster: passages to encode, points of a space."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from assay.eval.cluster.cluster import Cluster, join
from assay.eval.cluster.worker import (
    AnyEncoder,
    AnyEncoderSettings,
    EncoderIdentity,
    Fingerprint,
    describe,
    probe,
)
from assay.eval.collections.loading import load
from assay.eval.configs.config import RunConfig
from assay.eval.configs.resources import make_resources
from assay.eval.running.point_order import name_shared
from assay.eval.running.runner import PointTask, TaskResult
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.models.choice import CrossEncoderChoice, EncoderChoice
from assay.retrievers.models.served.encoder import ServedEncoderSettings
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.pipeline.variants import Variants
from assay.retrievers.query.writing import WritingSettings
from assay.retrievers.services.prices import FREE, Prices
from assay.retrievers.settings import Resources, Settings, Spread, name_type
from assay.retrievers.store.digest import digest

TOKENS_PER_BATCH = 8192  # what a worker encodes in seconds, and loses when it is killed
BYTES_PER_TOKEN = 4  # about, of English
BATCHES_PER_WORKER = 4  # of points: fewer would share more, more would end at one time


class WorkerPool:
    """Workers of a cluster, and what each kind of work is cut into.

    Its `resources` is that of the command, with passages encoded by the workers.
    """

    def __init__(self, cluster: Cluster, resources: Resources) -> None:
        self._cluster = cluster
        self.resources = replace(resources, pool=self)

    def spread(self, settings: Settings) -> Spread | None:
        """Return a `Spread` that lets workers encode passages; None if a service encodes them.

        A service is called from this machine. A worker whose model files or arithmetic differ
        refuses.
        """
        served = isinstance(settings, ServedEncoderSettings)
        if served or not isinstance(settings, AnyEncoderSettings):
            return None

        def encode(encoder: AnyEncoder, texts: Sequence[str]) -> Iterator[int]:
            job = EncoderIdentity(settings, encoder.identity, probe(encoder))
            spans = list(cut_by_tokens(texts, encoder.metadata().get("max_tokens")))
            calls = ((job, [texts[i] for i in span]) for span in spans)
            for number, _ in self._cluster.map("encode", calls, len(spans)):
                yield from spans[number]

        return encode

    def run(
        self, tasks: Sequence[PointTask], measure: str, reports: Path
    ) -> Iterator[tuple[int, TaskResult]]:
        """Yield the position and the result of each task; no run is stored."""
        configs = [task.config for task in tasks]
        batches = self._prepare(configs)
        calls = (
            (
                [tasks[i] for i in places],
                [self._see(configs[i]) for i in places],
                measure,
                reports.absolute(),
            )
            for places in batches
        )
        for number, done in self._cluster.map("run", calls, len(batches)):
            yield from zip(batches[number], done, strict=True)

    def _prepare(self, configs: Sequence[RunConfig]) -> list[list[int]]:
        """Encode the texts of the configs, and return their positions in batches that share chunks.

        Workers would each encode the same passages at once.
        """
        for config in configs:
            check(config, self.resources)
        batches: list[list[int]] = []
        names = list(map(name_shared, configs))
        order = sorted(range(len(configs)), key=names.__getitem__)
        size = -(-len(configs) // (self._cluster.size * BATCHES_PER_WORKER))
        for (dataset, _), grouped in groupby(order, key=names.__getitem__):
            places = list(grouped)
            batches += [places[i : i + size] for i in range(0, len(places), size)]
            by_encoders = {_name_encoders(configs[i]): configs[i] for i in places}
            with Variants(self.resources) as variants:
                for name, config in by_encoders.items():
                    # An error in a config is reported when the config is run.
                    with suppress(AssayError), variants.build(config) as retriever:
                        if name:
                            retriever.index(_load(dataset).documents)
        return batches

    def _see(self, config: RunConfig) -> Fingerprint:
        return Fingerprint(_load(config.dataset).digest, describe(config, self.resources))


@contextmanager
def distribute(
    address: str | None, progress: Progress, gpus: float = 0.0
) -> Iterator[WorkerPool | None]:
    """Yield the workers of the cluster at `address`, as `cluster.join` has it; none without one."""
    if address is None:
        if gpus:
            raise AssayError("--ray-gpus: workers have them; give --ray, too")
        yield None
        return
    with join(address, progress, gpus) as cluster:
        yield WorkerPool(cluster, make_resources(progress))


def cut_by_tokens(texts: Sequence[str], most: int | None) -> Iterator[range]:
    """Yield the places of `texts` in batches of about 8,192 tokens, or of one text.

    An encoder reads `most` tokens of a text, or all.
    """
    begin = total = 0
    for i, text in enumerate(texts):
        tokens = len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN + 1
        tokens = min(tokens, most or tokens)
        if total + tokens > TOKENS_PER_BATCH and i > begin:
            yield range(begin, i)
            begin, total = i, 0
        total += tokens
    if begin < len(texts):
        yield range(begin, len(texts))


def check(config: RunConfig, resources: Resources) -> None:
    """Raise AssayError if searching with `config` calls a service that charges.

    Its budget is kept in a file of one machine.
    """
    if not isinstance(config.retriever, PipelineSettings):
        return
    parts = (
        *config.retriever.active.values(),
        *config.retriever.query,
        *config.retriever.stages,
    )
    for part in parts:
        if any(prices != FREE for prices in _list_prices(part, resources)):
            raise AssayError(
                f"--ray: {config.name}: {name_type(type(part))} calls a service that charges, whose"
                " budget is kept on one machine; leave --ray out"
            )


def _list_prices(part: Settings, resources: Resources) -> Iterator[Prices | None]:
    """Yield the prices of each model that a part of a pipeline calls."""
    for value in (part, *(value for _, value in part)):
        if isinstance(value, EncoderChoice | WritingSettings):
            yield value.open(resources).prices
        elif isinstance(value, CrossEncoderChoice):
            yield value.build(resources).prices


def _name_encoders(config: RunConfig) -> str:
    """Return a digest of the models that embed a config's passages; "" if it embeds none."""
    if not isinstance(config.retriever, PipelineSettings):
        return ""
    pipeline = config.retriever
    parts = (*pipeline.active.values(), *pipeline.query, *pipeline.stages)
    found = [value for part in parts for _, value in part if isinstance(value, AnyEncoderSettings)]
    return digest(found) if found else ""


_load = lru_cache(maxsize=1)(load)
