"""Work given to Ray: what is refused, and what comes of it beside what comes without."""

import importlib.util
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from processes import finish, find_free_port, start
from small_project import write_project

from eval.cli.main import assay
from eval.experiments.cluster_worker import FetchingCache, Keeper, describe
from eval.experiments.config import RunConfig
from eval.experiments.distribution import check, cut_by_tokens
from eval.runs.stored import load, read_rows
from retrievers.base import AssayError, Quiet
from retrievers.settings import Workshop
from retrievers.store.cache import Cache

COMMANDS = {
    "run": ["mine.yaml"],
    "sweep": ["sweep.yaml"],
    "ablate": ["mine.yaml"],
    "tune": ["mine.yaml", "--over", "depth=1,2"],
}
needs_ray = pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="needs the extra `ray`")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("ray://head:10001", "--ray ray://head:10001: addresses of Ray's client are not taken"),
        ("head", "--ray head: not an address; allowed: local, HOST:PORT"),
        ("head:99999", "--ray head:99999: not an address"),
        ("127.0.0.1:{port}", "--ray 127.0.0.1:{port}: nothing answers there: "),
    ],
)
def test_a_broken_address_is_one_line(
    command: str, address: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    port = find_free_port()
    words = [command, *COMMANDS[command], "--ray", address.format(port=port), "--no-track"]
    failed = CliRunner().invoke(assay, words).exception
    assert isinstance(failed, AssayError)
    assert str(failed).startswith(told.format(port=port))
    assert "\n" not in str(failed)
    assert not (tmp_path / "reports").exists()


def test_what_is_charged_for_is_refused(tmp_path: Path) -> None:
    legs = {"dense": {"type": "dense", "encoder": {"type": "openai", "model": "text-embedding-3-small"}}}
    config = RunConfig.model_validate({"name": "served", "retriever": {"legs": legs}})
    with pytest.raises(AssayError, match=r"^--ray: served: dense asks a service that charges"):
        check(config, Workshop(Cache(tmp_path), Quiet()))


def test_batches_hold_so_many_tokens_and_every_text_once() -> None:
    texts = ["word " * 4000, "", "word " * 20_000, *["word " * 100] * 200]
    spans = list(cut_by_tokens(texts, 512))
    assert [at for span in spans for at in span] == list(range(len(texts)))
    assert max(len(span) for span in spans[1:]) == 8192 // (500 // 4 + 1)
    assert list(cut_by_tokens(texts, None))[2] == range(2, 3)  # longer than a batch: alone
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


def test_a_retriever_is_told_by_what_decides_its_answers(tmp_path: Path) -> None:
    workshop = Workshop(Cache(tmp_path), Quiet())

    def tell(model: str) -> str:
        legs = {"dense": {"type": "dense", "encoder": model}}
        return describe(
            RunConfig.model_validate({"name": "a", "retriever": {"legs": legs}}), workshop
        )

    assert tell("bge-small-en-v1.5") == tell("bge-small-en-v1.5") != tell("all-MiniLM-L6-v2")
    assert tell(str(tmp_path / "nowhere")) == ""
