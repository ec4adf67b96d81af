"""The worker of a cluster: it runs in a process of its own, on any machine.

It reads configs' collections by their paths, and its caches lie on its own machine: SQLite keeps a
log that only processes of one machine can share. Missing values are requested by key from the
machine that the command was called on.
"""

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from assay.eval import no_telemetry
from assay.eval.cluster.cache import FetchingCache, RemoteCache
from assay.eval.collections.collection import Collection
from assay.eval.collections.loading import load
from assay.eval.configs.config import RunConfig
from assay.eval.running.runner import PointTask, Runner, TaskResult
from assay.eval.runs import environment
from assay.retrievers.base import AssayError, Quiet
from assay.retrievers.models.base import SparseVector
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.models.choice import EncoderChoice
from assay.retrievers.models.late_interaction.token_vectors import (
    CachingTokenEncoder,
    TokenEncoderSettings,
)
from assay.retrievers.models.sparse.sparse import CachingSparseEncoder, SparseEncoderSettings
from assay.retrievers.settings import Resources
from assay.retrievers.settings.plugins import look_here
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.digest import digest

# What decides which content a name means, or what may be read. Secrets are never sent.
SENT = ("ASSAY_DATA", "ASSAY_DATASET", "ASSAY_TRUST", "ASSAY_PRICES")
PROBE = "The harbour office issues a permit within five working days; see section 4.2 (b)."


AnyEncoderSettings = EncoderChoice | SparseEncoderSettings | TokenEncoderSettings
AnyEncoder = CachingEncoder | CachingSparseEncoder | CachingTokenEncoder


@dataclass(frozen=True)
class HostRequirements:
    """The place where a command was called, and the requirements that its workers must meet."""

    folder: str
    variables: Mapping[str, str]
    command: tuple[str, ...]
    packages: Mapping[str, str]
    code: str
    node: str
    cache: Path
    keeper: Any


@dataclass(frozen=True)
class EncoderIdentity:
    """The encoder of passages; `identity` and `probe` are those of the first machine."""

    settings: AnyEncoderSettings
    identity: str
    probe: bytes


@dataclass(frozen=True)
class Fingerprint:
    """The digest of a collection, and that of a retriever's metadata before it has indexed."""

    collection: str
    facts: str


class Worker:
    """A worker that processes batches; it keeps models, collections and indexes between them."""

    def __init__(self) -> None:
        no_telemetry.disable()
        self._load = lru_cache(maxsize=1)(load)
        self._encoders: dict[str, AnyEncoder] = {}

    def enter(self, place: HostRequirements) -> str:
        """Take up work at `place`, and return the name of this machine; "" if that is the first.

        Raises AssayError where the machine is not fit for it.
        """
        if not Path(place.folder).is_dir():
            raise self._refuse(
                f"{place.folder} is not there: configs and collections are read by path"
            )
        os.chdir(place.folder)
        look_here()  # objects that are sent may be of classes there
        for name in SENT:
            os.environ.pop(name, None)
        os.environ.update(place.variables)
        if environment.digest_code(*environment.EVERYTHING) != place.code:
            raise self._refuse(f"its Assay, in {environment.ROOT}, has other code")
        here = environment.packages()
        for name in sorted(here.keys() | place.packages.keys()):
            if (own := here.get(name)) != (wanted := place.packages.get(name)):
                raise self._refuse(
                    f"it has {name} {own or 'none'}; {wanted or 'none'} is installed here"
                )
        import ray

        self._command = place.command
        if ray.get_runtime_context().get_node_id() == place.node:
            self._resources = self._encoding = Resources(Cache(place.cache), Quiet(), threads=1)
            return ""
        fetching = partial(FetchingCache, default_root(), place.keeper, ray.get)
        self._resources = Resources(fetching(), Quiet(), threads=1)
        self._encoding = Resources(fetching(tells=True), Quiet(), threads=1)
        return socket.gethostname()

    def encode(self, job: EncoderIdentity, texts: Sequence[str]) -> None:
        """Cache the vectors that an encoder makes of texts, here and on the first machine."""
        if job.identity not in self._encoders:
            encoder = job.settings.build(self._encoding)
            name = encoder.metadata().get("model", type(job.settings).__name__)
            if encoder.identity != job.identity:
                raise self._refuse(f"{name}: other files of that model are there")
            if probe(encoder) != job.probe:
                raise self._refuse(
                    f"{name}: its processor, or damaged files, give other numbers than on the"
                    " machine the command was called on"
                )
            self._encoders = {job.identity: encoder}
        encoder = self._encoders[job.identity]
        encoder.keep(texts)
        encoder.recall_seconds(texts)  # so that they are sent to the first machine

    def run(
        self, tasks: Sequence[PointTask], seen: Sequence[Fingerprint], measure: str, reports: Path
    ) -> list[TaskResult]:
        """Return the results of points, none of which is stored as a run."""
        for task, wanted in zip(tasks, seen, strict=True):
            self._check(task.config, wanted)
        with environment.as_command(*self._command):
            return Runner(measure, self._resources, reports, stored=False).run(tasks)

    def _check(self, config: RunConfig, wanted: Fingerprint) -> None:
        self._open(config.dataset, wanted.collection)
        if describe(config, self._resources) != wanted.facts:
            raise self._refuse(f"{config.name}: its models or engines are others there")

    def _open(self, dataset: str, digest_: str) -> Collection:
        collection = self._load(dataset)
        if collection.digest != digest_:
            raise self._refuse(f"collection {dataset}: it holds other content there")
        return collection

    def _refuse(self, reason: str) -> AssayError:
        return AssayError(f"--ray: the worker on {socket.gethostname()} cannot be used: {reason}")


def probe(encoder: AnyEncoder) -> bytes:
    """Return the bytes of an encoder's vector of a fixed sentence, without a cache."""
    made = encoder.encode_query(PROBE)
    return made.to_bytes() if isinstance(made, SparseVector) else made.tobytes()


def describe(config: RunConfig, resources: Resources) -> str:
    """Return the digest of a retriever's metadata before it has indexed.

    It is empty if the retriever cannot be built: the error is reported when it is run.
    """
    try:
        with config.build(resources) as retriever:
            return digest(dict(retriever.metadata()))
    except AssayError:
        return ""


def make_worker_class(ray: Any, gpus: float) -> Any:
    """Return the Ray class of workers, each on a processor of its own, which are not restarted.

    Each has `gpus` GPUs, or a share of one, and sees no others.
    """
    return ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=0, max_task_retries=0)(Worker)


def make_place(ray: Any, node: str, root: Path) -> HostRequirements:
    """Return the place of this process, which is on the machine `node` with the cache `root`."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
    keeper = ray.remote(num_cpus=0, scheduling_strategy=here)(RemoteCache).remote(root.absolute())
    variables = {name: os.environ[name] for name in SENT if name in os.environ}
    if "ASSAY_DATA" in variables:
        variables["ASSAY_DATA"] = str(Path(variables["ASSAY_DATA"]).expanduser().absolute())
    return HostRequirements(
        folder=str(Path.cwd()),
        variables=variables,
        command=tuple(environment.command()),
        packages=environment.packages(),
        code=environment.digest_code(*environment.EVERYTHING),
        node=node,
        cache=root.absolute(),
        keeper=keeper,
    )
