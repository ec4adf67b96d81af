"""Work given to a Ray: what comes of it beside what comes without."""

import importlib.util
import json
import os
import signal
import sqlite3
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
import yaml
from tools.processes import finish, start

from assay.eval.runs.stored import read_rows

needs_ray = pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="needs the extra `ray`")
QUICK = ["dataset=harbourline", "limit=20", "latency.queries=0"]
SECRET = "sk-nobody-may-read-this"


@pytest.fixture(scope="module")
def ray_cluster(tmp_path_factory):
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
def ray_address(ray_cluster):
    return str(ray_cluster.address)


def end_worker(pid):
    os.kill(pid, signal.SIGKILL)


def call(folder, *words, killing="", end=end_worker):
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


def find_worker(method, process):
    """Return the process that does `method` of a worker, once there is one."""
    while process.poll() is None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if path.read_bytes().startswith(f"ray::Worker.{method}".encode()):
                    return int(path.parent.name)
        time.sleep(0.05)
    raise AssertionError(process.communicate()[1])


def read_answers(reports):
    """Return all that the one run in `reports` holds of its queries, but milliseconds."""
    (folder,) = (path.parent for path in reports.glob("*/rankings.jsonl"))
    rankings = [
        {**row, "digest": "", "trace": [[*entry[:2], *entry[3:6]] for entry in row["trace"]]}
        for row in read_rows(folder / "rankings.jsonl")
    ]
    names = ("passages", "placements", "queries", "gold")
    return [rankings, *((folder / f"{name}.jsonl").read_bytes() for name in names)]


def read_vectors(folder, kind="embeddings"):
    with closing(sqlite3.connect(folder / "cache" / f"{kind}.sqlite")) as database:
        return dict(database.execute("SELECT key, value FROM checked"))


@needs_ray
@pytest.mark.long
def test_a_run_is_the_same_to_the_bit_though_workers_are_killed(tmp_path, ray_address):
    words = ["run", "semantic", *QUICK]
    alone = call(tmp_path / "alone", *words)
    ray = ["--ray", ray_address]
    spread = call(tmp_path / "spread", *words, *ray, killing="encode")
    assert read_answers(spread) == read_answers(alone)
    assert read_vectors(tmp_path / "spread") == read_vectors(tmp_path / "alone")


@needs_ray
@pytest.mark.long
def test_points_have_the_figures_they_have_without(tmp_path, ray_address):
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
@pytest.mark.long
def test_a_run_is_the_same_to_the_bit_though_a_machine_goes(tmp_path, ray_cluster):
    legs = "{sparse: {type: sparse, encoder: splade-tiny}, late: {type: late_interaction}}"
    fused = [f"retriever.legs={legs}", "retriever.fusion={type: rrf, k: 60}"]
    words = ["run", "semantic", *QUICK, *fused, "--json"]

    def end_machine(pid):
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
@pytest.mark.long
def test_a_ray_of_ones_own_leaves_nothing_and_writes_no_secret(tmp_path):
    place = Path(tempfile.mkdtemp(prefix="assay-", dir="/tmp"))  # the path of a socket is short
    names = {"ASSAY_CACHE": tmp_path / "cache", "ASSAY_REPORTS": tmp_path / "reports"}
    environment = {name: str(path) for name, path in names.items()}
    environment |= {"TMPDIR": str(place), "OPENAI_API_KEY": SECRET}
    words = ["run", "semantic", *QUICK, "--no-track"]
    process = start(*words, "--ray", "local", environment=environment)
    find_worker("encode", process)
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
@pytest.mark.long
def test_the_cluster_file_of_the_documents_is_one_of_rays():
    from ray.autoscaler._private.util import prepare_config, validate_config

    path = Path(__file__).parents[3] / "examples" / "ray_cluster.yaml"
    validate_config(prepare_config(yaml.safe_load(path.read_text())))
