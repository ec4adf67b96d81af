"""What tests do with a real PostgreSQL."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.retrievers.engines.conformance.sample import encode
from assay.retrievers.engines.stores.postgres import PostgresSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

if TYPE_CHECKING:
    pass


def make(root, **settings):
    chosen = PostgresSettings.model_validate({"type": "postgres", **settings})
    return chosen.build(Resources(Cache(root)))


def connect(server, **options):
    import psycopg

    target = {"host": str(server.find_socket()), "user": "postgres", "dbname": "postgres"}
    return psycopg.connect(**{**target, **options}, autocommit=True)


def describe(server, user="postgres", database="postgres"):
    return f"postgresql://{user}@/{database}?host={server.find_socket()}"


def vectors(rows, dimensions=32):
    drawn = np.random.default_rng(7).normal(size=(rows, dimensions))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.float32)


def list_servers(root):
    """Return the ids of living processes of PostgreSQL whose data lie below `root`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.joinpath("cwd").readlink().is_relative_to(root):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def read_postmaster(server):
    """Return the id of the running server's first process."""
    return int((server.folder / "data/postmaster.pid").read_text().split()[0])


def wait_until(reached, seconds=15.0):
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


def run_python(code, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def index_alone(engine, texts):
    return engine.index(texts, np.array([encode(text) for text in texts]), "alone")
