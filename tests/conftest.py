"""What every test may rely on, however the suite was started."""

import gc
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tools.forked_cli import SECONDS

from assay.eval.runs import machine_load
from assay.eval.runs.machine_load import MachineLoad

# A suite started in the background, by `nohup` or a CI runner, ignores interrupts, and what it
# starts would ignore them too: tests interrupt commands.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The workers of pytest-xdist share the processors: a BLAS with threads of its own, whose work here
# is small, would wait for them more than it computes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Tests that say nothing of it expect reports below the working directory.
os.environ.pop("ASSAY_REPORTS", None)

# Every run that times queries would look at the machine for half a second.
machine_load.SECONDS = SECONDS

# The workers of pytest-xdist get one, and what the tests start would fit its tables to it.
os.environ.pop("COLUMNS", None)

# How long an example takes says how busy the machine is; what is fast enough, benchmarks say.
# `--hypothesis-profile=long` tries sixteen times as many.
settings.register_profile("assay", deadline=None, max_examples=25)
settings.register_profile("long", deadline=None, max_examples=400)
settings.load_profile("assay")

ADDRESSES = re.compile(r"^ASSAY_|_(URL|URI|ENDPOINT|PORT|USER|KEY|TOKEN|PASSWORD)$")


def pytest_collection_finish() -> None:
    """What was imported and collected stays: no garbage collection need look at it again."""
    gc.freeze()


@pytest.fixture(autouse=True)
def unchanged_addresses() -> Iterator[None]:
    """What a test leaves in the environment, the next one would take for a server's address."""
    before = _list_addresses()
    yield
    changed = {name for name, _ in before ^ _list_addresses()}
    assert not changed, f"the test changed {', '.join(sorted(changed))} for those after it"


def _list_addresses() -> set[tuple[str, str]]:
    return {item for item in os.environ.items() if ADDRESSES.search(item[0])}


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed is as of a machine where nobody else works, though other tests do here."""
    monkeypatch.setattr(MachineLoad, "is_busy", lambda self, limit=1.0: False)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of each pause from now on. A clock would tell of the machine's load as well."""
    seconds: list[float] = []
    sleep = time.sleep

    def pause(wanted: float) -> None:
        seconds.append(wanted)
        sleep(wanted)

    monkeypatch.setattr(time, "sleep", pause)
    return seconds


@pytest.fixture(scope="session", autouse=True)
def opened_models() -> Iterator[None]:
    """Models on ONNX Runtime are opened once a worker, which takes half a second each.

    What is shared, a session and a tokenizer, keeps nothing of the texts that it has read.
    """
    from assay.retrievers.models.onnx import OnnxModel

    opened: dict[tuple[Any, ...], Any] = {}
    open_anew = OnnxModel._open

    def open_once(self: Any, model: Path, tokenizer: Path) -> Any:
        files = [(path.resolve(), path.stat().st_mtime_ns) for path in (model, tokenizer)]
        graph = sorted(self._write.keywords.items()) if self._write else ()
        key = (*files, self._max_tokens, *graph)
        if key not in opened:
            opened[key] = open_anew(self, model, tokenizer)
        return opened[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OnnxModel, "_open", open_once)
        yield
