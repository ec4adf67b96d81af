"""docker/compose.yaml as far as it can be checked without Docker, and the script around it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docker" / "compose.yaml"
SCRIPT = ROOT / "scripts" / "engines.sh"
COMPOSE = yaml.safe_load(FILE.read_text())
SERVICES = COMPOSE["services"]
# Those keys of the Compose specification that the file uses.
KEYS = {
    "command", "deploy", "environment", "healthcheck", "image", "ports", "restart", "shm_size",
    "ulimits", "volumes",
}  # fmt: skip
DURATION = r"\d+(ms|s|m)"


def test_the_servers_are_those_that_are_promised():
    assert set(SERVICES) == {"weaviate", "opensearch", "qdrant", "postgres", "mlflow"}
    assert COMPOSE.keys() == {"name", "services", "volumes"}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service(name):
    service = SERVICES[name]
    assert service.keys() <= KEYS
    assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*", service["image"]), "no pinned version"
    health = service["healthcheck"]
    assert health.keys() == {"test", "interval", "timeout", "retries", "start_period"}
    assert health["test"][0] in ("CMD", "CMD-SHELL")
    assert all(isinstance(part, str) for part in health["test"])
    for key in ("interval", "timeout", "start_period"):
        assert re.fullmatch(DURATION, health[key])
    limits = service["deploy"]["resources"]["limits"]
    assert float(limits["cpus"]) <= 2
    assert re.fullmatch(r"\d+[mg]", limits["memory"])
    for port in service["ports"]:
        assert re.fullmatch(r"127\.0\.0\.1:(\d+):\1", port), "open to other machines"
    for volume in service["volumes"]:
        source, target = volume.split(":")
        assert source in COMPOSE["volumes"]
        assert target.startswith("/")


def test_compose_reads_the_file():
    command = ["docker", "compose", "--file", str(FILE), "config", "--quiet"]
    if not shutil.which("docker") or subprocess.run([*command[:2], "version"], check=False,
                                                    capture_output=True).returncode:  # fmt: skip
        pytest.skip("Docker's plugin compose is not installed")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_secret_stands_in_the_file():
    for service in SERVICES.values():
        for variable, value in service.get("environment", {}).items():
            if re.search("PASSWORD|KEY|SECRET|TOKEN", variable):
                assert value == f"${{{variable}:-}}"


@pytest.fixture
def docker(tmp_path):
    """A `docker` that writes down how it is called and succeeds; the path that has it first."""
    fake = tmp_path / "bin" / "docker"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    fake.chmod(0o755)
    return {"PATH": f"{fake.parent}:/usr/bin:/bin", "CALLS": str(tmp_path / "calls")}


def call(*arguments, **environment):
    return subprocess.run(
        ["bash", str(SCRIPT), *arguments], env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_what_is_started_and_what_is_to_be_exported(docker):
    done = call("up", POSTGRES_PASSWORD="s3cret", **docker)
    assert done.returncode == 0, done.stderr
    started = Path(docker["CALLS"]).read_text().splitlines()[-1]
    assert started.startswith("compose --file docker/compose.yaml up --detach --wait ")
    assert set(started.split("--wait ")[1].split()) == set(SERVICES)
    exports = dict(line.removeprefix("export ").split("=", 1) for line in done.stdout.splitlines())
    assert "s3cret" not in done.stdout
    for variable, value in exports.items():
        if port := re.search(r"127\.0\.0\.1:(\d+)", value):
            bound = [item for each in SERVICES.values() for item in each["ports"]]
            assert f"127.0.0.1:{port[1]}:{port[1]}" in bound, variable
    assert set(exports) == {
        "WEAVIATE_URL", "OPENSEARCH_URL", "QDRANT_URL", "POSTGRES_URL", "PGPASSWORD",
        "MLFLOW_TRACKING_URI",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("up",), "postgres: set POSTGRES_PASSWORD to a password of your choice, or leave it out"),
        (("up", "redis"), "redis: no such server; there are: weaviate opensearch qdrant"),
        (("sideways",), "usage: scripts/engines.sh up|down [SERVICE...]"),
    ],
)
def test_what_is_to_be_mended(arguments, line, docker):
    done = call(*arguments, **docker)
    assert done.returncode == 2
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


def test_docker_is_missing_or_lacks_something(tmp_path, docker):
    empty = tmp_path / "empty"
    empty.mkdir()
    for tool in ("dirname", "bash"):
        (empty / tool).symlink_to(f"/usr/bin/{tool}")
    environment = {"PATH": str(empty), "POSTGRES_PASSWORD": "x"}
    assert call("up", **environment).stderr.startswith("docker is not installed: ")
    fake = Path(docker["PATH"].split(":")[0]) / "docker"
    for failing, problem in (("compose", "docker lacks its plugin compose"),
                             ("info", "docker does not answer")):  # fmt: skip
        fake.write_text(f'#!/bin/sh\n[ "$1" != {failing} ]\n')
        done = call("up", POSTGRES_PASSWORD="x", **docker)
        assert done.returncode == 2
        assert done.stderr.startswith(problem)
        assert os.linesep not in done.stderr.rstrip()
