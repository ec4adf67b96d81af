"""Work given to Ray: what is refused, and what comes of it beside what comes without."""

import importlib.util
import json
import os
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from processes import find_free_port, finish, start
from small_project import write_project

from eval.cli.main import assay
from eval.experiments.cluster import count_workers, tell_end
from eval.experiments.cluster_cache import FetchingCache, Keeper
from eval.experiments.cluster_worker import Place, Seen, Worker, describe
from eval.experiments.config import RunConfig
from eval.experiments.distribution import check, cut_by_tokens, distribute
from eval.runs import environment
from eval.runs.stored import read_rows
from retrievers.base import AssayError, Quiet
from retrievers.models.base import Encoder, Vectors
from retrievers.models.encoders import EncoderChoice
from retrievers.models.token_base import TokenEncoder
from retrievers.models.token_vectors import TokenEncoderSettings
from retrievers.settings import Spread, Workshop
from retrievers.store.cache import Cache
from retrievers.store.digest import digest_sources


class Hashing(Encoder):
    """Turns a text into the bytes of its digest."""

    identity = "hashing"

    def encode_query(self, text: str) -> Vectors:
        return np.frombuffer(sha256(text.encode()).digest(), np.uint8).astype(np.float32)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.encode_query(text) for text in texts])


class TokenHashing(TokenEncoder):
    """As `Hashing`, a vector a word."""

    identity = "hashing words"

    def encode_query(self, text: str) -> Vectors:
        return Hashing().encode_passages(text.split())

    def encode_passages(self, texts: Sequence[str]) -> list[Vectors]:
        return [self.encode_query(text) for text in texts]

    def facts(self) -> Mapping[str, Any]:
        return {}


class HashingSettings(EncoderChoice):
    def open(self, workshop: Workshop) -> Encoder:
        return Hashing()


class TokenHashingSettings(TokenEncoderSettings):
    def _open(self, workshop: Workshop) -> TokenEncoder:
        return TokenHashing()


class Pool:
    """Encodes here, behind a cache, as workers do elsewhere."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self.asked: list[str] = []

    def spread(self, settings: Any) -> Spread:
        def encode(encoder: Any, texts: Sequence[str]) -> Iterator[int]:
            self.asked += texts
            settings.build(self._workshop).keep(texts)
            yield from range(len(texts))

        return encode


COMMANDS = {
    "run": ["mine.yaml"],
    "sweep": ["sweep.yaml"],
    "ablate": ["mine.yaml"],
    "tune": ["mine.yaml", "--over", "depth=1,2"],
}
needs_ray = pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="needs the extra `ray`")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("ray://head:10001", "addresses of Ray's client are not taken"),
        ("head", "not an address; allowed: local, HOST:PORT"),
        ("head:99999", "not an address; allowed: local, HOST:PORT"),
        ("127.0.0.1:PORT", "nothing answers there: "),
    ],
)
def test_a_broken_address_is_one_line(address: str, told: str) -> None:
    address = address.replace("PORT", str(find_free_port()))
    with pytest.raises(AssayError) as failed, distribute(address, Quiet()):
        pytest.fail("joined")
    assert str(failed.value).startswith(f"--ray {address}: {told}")
    assert "\n" not in str(failed.value)


def test_every_command_refuses_it_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    for command, words in COMMANDS.items():
        failed = CliRunner().invoke(assay, [command, *words, "--ray", "head", "--no-track"])
        assert isinstance(failed.exception, AssayError)
        assert str(failed.exception).startswith("--ray head: not an address")
    assert not (tmp_path / "reports").exists()


def test_what_is_charged_for_is_refused(tmp_path: Path) -> None:
    encoder = {"type": "openai", "model": "text-embedding-3-small"}
    legs = {"dense": {"type": "dense", "encoder": encoder}}
    config = RunConfig.model_validate({"name": "served", "retriever": {"legs": legs}})
    with pytest.raises(AssayError, match=r"^--ray: served: dense asks a service that charges"):
        check(config, Workshop(Cache(tmp_path), Quiet()))


def test_batches_hold_so_many_tokens_and_every_text_once() -> None:
    texts = ["word " * 4000, "", "word " * 20_000, *["word " * 100] * 200]
    spans = list(cut_by_tokens(texts, 512))
    assert [at for span in spans for at in span] == list(range(len(texts)))
    assert max(len(span) for span in spans[1:]) == 8192 // (500 // 4 + 1)
    assert list(cut_by_tokens(texts, None))[1] == range(2, 3)  # longer than a batch: alone
    assert list(cut_by_tokens([], None)) == []


def test_a_cache_elsewhere_asks_for_what_it_lacks_and_tells_what_is_new(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "home")
    keeper.put_many("vectors", {"a": b"1", "b": b"2"})
    asked: list[Sequence[str]] = []

    def get_many(kind: str, keys: Sequence[str]) -> Mapping[str, bytes]:
        asked.append(keys)
        return keeper.get_many(kind, keys)

    remote = SimpleNamespace(
        get_many=SimpleNamespace(remote=get_many), put_many=SimpleNamespace(remote=keeper.put_many)
    )
    cache = FetchingCache(tmp_path / "away", remote, lambda value: value)
    for _ in range(2):
        assert cache.get_many("vectors", ["a", "b"]) == {"a": b"1", "b": b"2"}
    assert asked == [["a", "b"]]
    cache.put_many("vectors", {"c": b"3"})
    assert keeper.get_many("vectors", ["c"]) == {"c": b"3"}


def test_a_cache_elsewhere_tells_what_it_knows_where_that_is_wanted(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "home")
    remote = SimpleNamespace(
        get_many=SimpleNamespace(remote=keeper.get_many),
        put_many=SimpleNamespace(remote=keeper.put_many),
    )
    Cache(tmp_path / "away").put_many("vectors", {"a": b"1"})
    FetchingCache(tmp_path / "away", remote, lambda value: value).get_many("vectors", ["a"])
    assert keeper.get_many("vectors", ["a"]) == {}
    telling = FetchingCache(tmp_path / "away", remote, lambda value: value, tells=True)
    assert telling.get_many("vectors", ["a", "b"]) == {"a": b"1"}
    assert keeper.get_many("vectors", ["a"]) == {"a": b"1"}


@pytest.mark.parametrize("kind", [HashingSettings, TokenHashingSettings])
def test_what_others_encode_is_as_what_is_encoded_here(
    tmp_path: Path, kind: type[HashingSettings | TokenHashingSettings]
) -> None:
    texts = [f"text {number % 150}" for number in range(200)]
    here = kind().build(Workshop(Cache(tmp_path / "here")))
    pool = Pool(Workshop(Cache(tmp_path / "shared")))
    shared = kind().build(Workshop(Cache(tmp_path / "shared"), pool=pool))
    assert shared.keep(texts[:64]) == here.keep(texts[:64]) == 64
    assert not pool.asked  # so few are not worth sending
    assert shared.keep(texts) == here.keep(texts) == 86
    assert pool.asked == texts[64:150]
    assert shared.keep(texts) == 0
    keys = [encoder.recall_seconds(texts) is not None for encoder in (here, shared)]
    assert keys == [True, True]


NODES: list[dict[str, Any]] = [
    {"Alive": True, "Resources": {}},
    {"Alive": True, "Resources": {"CPU": 4.0, "GPU": 2.0}},
    {"Alive": True, "Resources": {"CPU": 2.0, "GPU": 1.0}},
    {"Alive": False, "Resources": {"CPU": 8.0, "GPU": 8.0}},
]


def test_workers_are_as_many_as_find_processors_and_gpus() -> None:
    assert [count_workers(NODES, gpus) for gpus in (0, 0.25, 1, 2)] == [6, 6, 3, 1]
    assert count_workers(NODES[:1], 0) == 1
    with pytest.raises(AssayError, match=r"^--ray-gpus 4: .* the most that one has is 2$"):
        count_workers(NODES, 4)


def test_gpus_of_no_cluster_are_refused() -> None:
    with pytest.raises(AssayError, match=r"^--ray-gpus: "), distribute(None, Quiet(), 1):
        pytest.fail("joined")
    with pytest.raises(AssayError, match=r"^--ray-gpus 1.5: "), distribute("local", Quiet(), 1.5):
        pytest.fail("joined")


def test_the_line_that_tells_why_a_worker_ended_is_told() -> None:
    died = "The actor died unexpectedly before finishing this task."
    gone = f"{died}\n\tclass_name: Worker\n\tip: 10.0.0.3\nThe actor's node has died."
    assert tell_end(gone) == "The actor's node has died."
    assert tell_end(died) == died
    begun = "The actor died because of an error raised in its creation task, ray::W (pid=1, ip="
    lacks = "ModuleNotFoundError: No module named 'eval'"
    assert tell_end(f"{begun}10.0.0.3, repr=x)\n  File x\n{lacks}") == f"{lacks} (on 10.0.0.3)"


def test_a_retriever_is_told_by_what_decides_its_answers(tmp_path: Path) -> None:
    workshop = Workshop(Cache(tmp_path), Quiet())

    def tell(model: str) -> str:
        legs = {"dense": {"type": "dense", "encoder": model}}
        return describe(
            RunConfig.model_validate({"name": "a", "retriever": {"legs": legs}}), workshop
        )

    assert tell("bge-small-en-v1.5") == tell("bge-small-en-v1.5") != tell("all-MiniLM-L6-v2")
    assert tell(str(tmp_path / "nowhere")) == ""


def test_a_worker_of_another_kind_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    place = Place(str(tmp_path), {}, (), {}, "other code", "", tmp_path, None)
    code = digest_sources(environment.ROOT / "retrievers", environment.ROOT / "eval")
    refusals = {
        "is not there: configs and collections": replace(place, folder=str(tmp_path / "gone")),
        "has other code": place,
        "is installed here": replace(place, code=code),
    }
    for told, given in refusals.items():
        refused = pytest.raises(AssayError, match=f"^--ray: the worker on .*{told}")
        with refused, mock.patch.dict(os.environ):  # a worker drops what it was not told
            Worker().enter(given)
    seen = Seen("other content", "")
    config = RunConfig.model_validate(yaml.safe_load((tmp_path / "mine.yaml").read_text()))
    with pytest.raises(AssayError, match="collection mine: it holds other content there"):
        Worker().score([config], [seen], None, "nDCG@10")


QUICK = ["dataset=harbourline", "limit=20", "latency.queries=0"]
SECRET = "sk-nobody-may-read-this"


@pytest.fixture(scope="module")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Ray of three machines in one, of which the head has no processor, and each its cache."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        cluster = Cluster()
        for processors in (0, 1, 1):
            patch.setenv("ASSAY_CACHE", str(tmp_path_factory.mktemp("machine")))
            cluster.add_node(
                num_cpus=processors, object_store_memory=100_000_000, include_dashboard=False
            )
        yield cluster
        cluster.shutdown()


@pytest.fixture
def ray_address(ray_cluster: Any) -> str:
    return str(ray_cluster.address)


def end_worker(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def call(
    folder: Path, *words: str, killing: str = "", end: Callable[[int], None] = end_worker
) -> Path:
    """Let `assay` run the words with caches and reports in `folder`; return that of its reports.

    With `killing` one worker is ended by `end` while it does that.
    """
    names = {"ASSAY_CACHE": folder / "cache", "ASSAY_REPORTS": folder / "reports"}
    environment = {name: str(path) for name, path in names.items()}
    process = start(*words, "--no-track", environment=environment | {"OPENAI_API_KEY": SECRET})
    if killing:
        end(find_worker(killing, process))
    done = finish(process)
    assert done.returncode == 0, done.stderr
    assert ("a worker ended; what it had is given to others" in done.stderr) == bool(killing)
    assert "--json" not in words or json.loads(done.stdout)
    return folder / "reports"


def find_worker(method: str, process: subprocess.Popen[str]) -> int:
    """Return the process that does `method` of a worker, once there is one."""
    while process.poll() is None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if path.read_bytes().startswith(f"ray::Worker.{method}".encode()):
                    return int(path.parent.name)
        time.sleep(0.05)
    raise AssertionError(process.communicate()[1])


def read_answers(reports: Path) -> list[Any]:
    """Return all that the one run in `reports` holds of its queries, but milliseconds."""
    (folder,) = (path.parent for path in reports.glob("*/rankings.jsonl"))
    rankings = [
        {**row, "digest": "", "trace": [[*entry[:2], *entry[3:6]] for entry in row["trace"]]}
        for row in read_rows(folder / "rankings.jsonl")
    ]
    names = ("passages", "placements", "queries", "gold")
    return [rankings, *((folder / f"{name}.jsonl").read_bytes() for name in names)]


def read_vectors(folder: Path, kind: str = "embeddings") -> dict[str, bytes]:
    with closing(sqlite3.connect(folder / "cache" / f"{kind}.sqlite")) as database:
        return dict(database.execute("SELECT key, value FROM items"))


@needs_ray
@pytest.mark.slow
def test_a_run_is_the_same_to_the_bit_though_workers_are_killed(
    tmp_path: Path, ray_address: str
) -> None:
    words = ["run", "semantic", *QUICK]
    alone = call(tmp_path / "alone", *words)
    ray = ["--ray", ray_address]
    spread = call(tmp_path / "spread", *words, *ray, killing="encode")
    assert read_answers(spread) == read_answers(alone)
    assert read_vectors(tmp_path / "spread") == read_vectors(tmp_path / "alone")


@needs_ray
@pytest.mark.slow
def test_points_have_the_figures_they_have_without(tmp_path: Path, ray_address: str) -> None:
    sweep = tmp_path / "sweep.yaml"
    axes = "retriever.legs.keyword.k1: [0.6, 1.2], retriever.legs.keyword.b: [0.3, 0.7]"
    sweep.write_text(f"base: bm25\naxes: {{{axes}}}\ncollections: [harbourline]\n")
    ray = ["--ray", ray_address]
    found = []
    for name, given in (("alone", []), ("spread", ray)):
        reports = call(tmp_path / name, "sweep", str(sweep), *QUICK[1:], *given)
        (path,) = reports.glob("sweep-*/sweep.json")
        points = json.loads(path.read_text())["points"]
        found.append([(row["settings"], row["measures"]) for row in points])
    assert found[0] == found[1]


@needs_ray
@pytest.mark.slow
def test_a_run_is_the_same_to_the_bit_though_a_machine_goes(
    tmp_path: Path, ray_cluster: Any
) -> None:
    legs = "{sparse: {type: sparse, encoder: splade-tiny}, late: {type: late_interaction}}"
    fused = [f"retriever.legs={legs}", "retriever.fusion={type: rrf, k: 60}"]
    words = ["run", "semantic", *QUICK, *fused, "--json"]

    def end_machine(pid: int) -> None:
        raylet = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        (node,) = (
            node
            for node in ray_cluster.worker_nodes
            if node.all_processes["raylet"][0].process.pid == raylet
        )
        ray_cluster.remove_node(node, allow_graceful=False)

    alone = call(tmp_path / "alone", *words)
    ray = ["--ray", ray_cluster.address]
    spread = call(tmp_path / "spread", *words, *ray, killing="encode", end=end_machine)
    assert read_answers(spread) == read_answers(alone)
    for kind in ("sparse_embeddings", "token_vectors"):
        assert read_vectors(tmp_path / "spread", kind) == read_vectors(tmp_path / "alone", kind)


@needs_ray
@pytest.mark.slow
def test_a_ray_of_ones_own_leaves_nothing_and_writes_no_secret(tmp_path: Path) -> None:
    place = Path(tempfile.mkdtemp(prefix="assay-", dir="/tmp"))  # the path of a socket is short
    names = {"ASSAY_CACHE": tmp_path / "cache", "ASSAY_REPORTS": tmp_path / "reports"}
    environment = {name: str(path) for name, path in names.items()}
    environment |= {"TMPDIR": str(place), "OPENAI_API_KEY": SECRET}
    words = ["run", "bm25", "dataset=tarnwick", "latency.queries=0", "--no-track"]
    process = start(*words, "--ray", "local", environment=environment)
    find_worker("search", process)
    (session,) = place.glob("assay-ray-*")
    assert not session.stat().st_mode & 0o077
    written = [path for path in session.rglob("*") if path.is_file()]
    assert len(written) > 10
    assert not [path for path in written if SECRET.encode() in path.read_bytes()]
    done = finish(process)
    assert done.returncode == 0, done.stderr
    assert not list(place.iterdir())
    place.rmdir()


@needs_ray
@pytest.mark.slow
def test_the_cluster_file_of_the_documents_is_one_of_rays() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    path = Path(__file__).parents[2] / "examples" / "ray_cluster.yaml"
    validate_config(prepare_config(yaml.safe_load(path.read_text())))
