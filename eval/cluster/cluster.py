"""A Ray cluster, or a local Ray: workers that receive batches, and lose only these if they end.

Ray is imported only here and in `assay.eval.cluster.worker`, if a command is to use it.
"""

import logging
import os
import re
import secrets
import socket
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from assay.eval.cluster.worker import HostRequirements, make_place, make_worker_class
from assay.eval.configs.locations import threads
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.base.installation import hint_extra
from assay.retrievers.store.cache import default_root

LOCAL = "local"
OBJECT_STORE = 200_000_000  # bytes that Ray keeps in memory for batches under way, locally
IN_FLIGHT = 2  # batches given to a worker: one in work, one that waits for it
ATTEMPTS = 3  # of a batch whose workers end
PATIENCE = 60.0  # seconds without a result after which it is said that nothing comes
TOKEN = "; it wants a token: RAY_AUTH_MODE=token, with RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
CREATION = re.compile(r"its creation task,.* ip=(?P<host>[^,]+)")
# Ray's own, before it is imported: it reports nothing, and what runs here alone is on loopback.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # What it says of machines that are gone it would print among results.
    "RAY_DEDUP_LOGS": "1",
    "RAY_DEDUP_LOGS_SKIP_REGEX": "^",
}
ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}


@dataclass(eq=False)
class _Worker:
    """A worker, and the batches it was given: the first is in work."""

    actor: Any
    entering: Any
    given: deque["_Batch"] = field(default_factory=deque)
    ready: bool = False
    host: str = ""  # its machine, unless that is the first


@dataclass
class _Batch:
    """A call of a worker; `ended` counts the workers that ended at it."""

    number: int
    arguments: tuple[Any, ...]
    ended: int = 0


class Cluster:
    """Workers of a Ray that this process has joined: one for each of its processors.

    Each has `gpus` GPUs; where there are any, there are no more workers than these are for.
    """

    def __init__(
        self, ray: Any, place: HostRequirements, progress: Progress, gpus: float = 0.0
    ) -> None:
        self._ray = ray
        self._place = ray.put(place)
        self._progress = progress
        self._worker = make_worker_class(ray, gpus)
        self.size = count_workers(ray.nodes(), gpus)
        self._workers: list[_Worker] = []
        self._unbegun = 0  # workers that ended before they could begin
        # A worker that ended, and a result that went with its machine.
        self._lost = ray.exceptions.RayActorError, ray.exceptions.ObjectLostError

    def map(
        self, method: str, batches: Iterable[tuple[Any, ...]], most: int
    ) -> Iterator[tuple[int, Any]]:
        """Yield (number, result) of each batch as it comes; there are at most `most` batches.

        A worker is given a second batch while it works at one, and no more: `batches` are made as
        they are needed. What a worker had that ends is given to others. Raises AssayError where a
        worker refuses its place, a call fails, or three workers end at the same batch.
        """
        source = (_Batch(number, given) for number, given in enumerate(batches))
        again: deque[_Batch] = deque()
        pending: dict[Any, tuple[_Worker, _Batch | None]] = {}
        for worker in self._workers:
            worker.given.clear()
            if not worker.ready:
                pending[worker.entering] = worker, None
        while len(self._workers) < min(self.size, most):
            self._start(pending)
        while True:
            while free := [
                one for one in self._workers if one.ready and len(one.given) < IN_FLIGHT
            ]:
                batch = again.popleft() if again else next(source, None)
                if batch is None:
                    break
                worker = min(free, key=lambda one: len(one.given))
                worker.given.append(batch)
                call = getattr(worker.actor, method).remote(*batch.arguments)
                pending[call] = worker, batch
            if not any(batch for _, batch in pending.values()) and not again:
                batch = next(source, None)
                if batch is None:
                    return
                again.append(batch)
            call = self._wait(pending)
            worker, batch = pending.pop(call)
            try:
                result = self._ray.get(call)
            except self._lost as error:
                if worker in self._workers:
                    self._retire(worker, again, error)
                    self._start(pending)
                continue
            except Exception as error:
                raise self._explain(error, worker.host) from None
            if batch is None:
                worker.ready, worker.host = True, result
                continue
            worker.given.remove(batch)
            yield batch.number, result

    def _start(self, pending: dict[Any, tuple[_Worker, _Batch | None]]) -> None:
        actor = self._worker.remote()
        worker = _Worker(actor, actor.enter.remote(self._place))
        self._workers.append(worker)
        pending[worker.entering] = worker, None

    def _retire(self, worker: _Worker, again: deque[_Batch], error: Exception) -> None:
        """Take back the batches that an ended worker was given."""
        self._workers.remove(worker)
        self._unbegun += not worker.ready
        why = tell_end(str(error))
        if getattr(error, "actor_init_failed", False):
            raise AssayError(f"--ray: a worker cannot start: {why}")
        if self._unbegun == ATTEMPTS:
            raise AssayError(
                f"--ray: {ATTEMPTS} workers ended before they could begin; the last: {why}"
            )
        if worker.given:
            worker.given[0].ended += 1
            if worker.given[0].ended == ATTEMPTS:
                raise AssayError(
                    f"--ray: {ATTEMPTS} workers ended at the same batch; the last: {why}"
                )
        again.extend(worker.given)
        self._progress.say("warning: a worker ended; what it had is given to others")

    def _wait(self, pending: Mapping[Any, Any]) -> Any:
        while True:
            [*done], _ = self._ray.wait(list(pending), num_returns=1, timeout=PATIENCE)
            if done:
                return done[0]
            if not any(worker.ready for worker in self._workers):
                self._progress.say("waiting for Ray to start workers …")

    def _explain(self, error: Exception, host: str) -> Exception:
        """Return the error that a worker raised on another machine, the `host`, or on this one; or
        one line on what Ray says.
        """
        cause = getattr(error, "cause", None)
        if isinstance(cause, AssayError):
            named = f"--ray: on {host}: " if host and not str(cause).startswith("--ray") else ""
            return AssayError(f"{named}{cause}")
        if isinstance(cause, OSError | MemoryError) and not host:
            return cause
        where = f" on {host}" if host else ""
        return AssayError(f"--ray: a worker failed{where}: {_first_line(cause or error)}")


@contextmanager
def join(address: str, progress: Progress, gpus: float = 0.0) -> Iterator[Cluster]:
    """Yield the cluster at `address`, HOST:PORT, or workers of a Ray that is started here: local.

    Each worker has `gpus` GPUs. Raises AssayError where there is none, it is not of this Ray and
    Python, or has no such GPUs.
    """
    if gpus > 1 and gpus != int(gpus):
        raise AssayError(f"--ray-gpus {gpus:g}: allowed: whole GPUs, or a share of one")
    with ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="assay-ray-", ignore_cleanup_errors=True)
        )
        if address == LOCAL:
            variables, options = QUIET | ALONE | _make_token(folder), _describe_local(folder)
        else:
            variables, options = QUIET, {"address": check_address(address)}
        stack.enter_context(set_variables(variables))
        try:
            import ray
        except ImportError:
            raise AssayError(f"--ray: {hint_extra('ray')}") from None
        logging.getLogger("ray").setLevel(logging.CRITICAL)
        stack.callback(ray.shutdown)
        with tempfile.TemporaryFile() as told:
            try:
                # Workers look for modules first where Ray is joined: not where an `eval` may be.
                with redirect_errors(told), chdir(folder):
                    ray.init(log_to_driver=False, configure_logging=False, **options)
            except Exception as error:  # Ray has no class of its own for most of them
                told.seek(0)
                token = TOKEN if b"InvalidAuthToken" in told.read() else ""
                raise AssayError(
                    f"--ray {address}: Ray says: {_first_line(error)}{token}"
                ) from None
        node = ray.get_runtime_context().get_node_id()
        yield Cluster(ray, make_place(ray, node, default_root()), progress, gpus)


def count_workers(nodes: Iterable[Mapping[str, Any]], gpus: float) -> int:
    """Return the number of workers that fit on the machines listed by `ray.nodes`; at least one.

    Raises AssayError if no machine has the GPUs of a worker.
    """
    found = most = 0
    for node in nodes:
        have = node["Resources"] if node["Alive"] else {}
        most = max(most, int(have.get("GPU", 0)))
        processors = int(have.get("CPU", 0))
        found += min(processors, int(have.get("GPU", 0) / gpus)) if gpus else processors
    if gpus and not found:
        raise AssayError(
            f"--ray-gpus {gpus:g}: no machine of the cluster has a processor and so many GPUs; the"
            f" most that one has is {most}"
        )
    return max(1, found)


def _describe_local(folder: str) -> dict[str, Any]:
    """Return the arguments that start a Ray for this process alone, with its files in `folder`."""
    return {
        "address": LOCAL,
        "num_cpus": threads(),
        "object_store_memory": OBJECT_STORE,
        "include_dashboard": False,
        "_temp_dir": f"{folder}/r",  # Ray lets everybody write there, not into the folder itself
    }


def _make_token(folder: str) -> dict[str, str]:
    """Write a token that clients of this private Ray must have: others use the machine too."""
    path = Path(folder) / "token"
    path.touch(0o600)
    path.write_text(secrets.token_hex(32))
    return {"RAY_AUTH_TOKEN_PATH": str(path)}


def tell_end(text: str) -> str:
    """Return the line with the reason from Ray's message about an ended worker."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("\t")]
    if place := CREATION.search(lines[0]):  # a traceback follows
        return f"{lines[-1].strip()} (on {place['host']})"
    return " ".join(lines[min(1, len(lines) - 1)].split())


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return " ".join(text.splitlines()[0].split())


CONNECT_SECONDS = 5.0
ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):(?P<port>\d{1,5})")


def check_address(address: str) -> str:
    """Return the address if something listens there. Raises AssayError otherwise."""
    if address.startswith("ray://"):
        raise AssayError(
            f"--ray {address}: addresses of Ray's client are not taken; call this on a machine of"
            " the cluster, with HOST:PORT of its head"
        )
    found = ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 65536:
        raise AssayError(f"--ray {address}: not an address; allowed: local, HOST:PORT")
    try:
        with socket.create_connection(
            (found["host"].strip("[]"), int(found["port"])), CONNECT_SECONDS
        ):
            return address
    except OSError as error:
        reason = error.strerror or str(error)
        raise AssayError(f"--ray {address}: nothing answers there: {reason}") from None


@contextmanager
def set_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables within the block: Ray's processes read them, and it itself when imported."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def redirect_errors(file: IO[bytes]) -> Iterator[None]:
    """Redirect standard error within the block, that of C++ too, to `file`."""
    before = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
