"""Damage of what the cache keeps, of the same size and with the same times, is found."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.retrievers.store import seals
from assay.retrievers.store.cache import META, Cache

CONTENT = {"a.npy": bytes(range(256)) * 5, "below/b.bin": b"values" * 90, "empty": b""}


def make(folder):
    for name, content in CONTENT.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)


def open_folder(root):
    folder = Cache(root).folder("kind", "key", make)
    assert {name: (folder.path / name).read_bytes() for name in CONTENT} == CONTENT
    return folder


def flip(path, place, bit=0):
    """Change a bit of a file, and keep its times."""
    before, content = path.stat(), bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << bit
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """Let this process look at each folder as a new one does."""
    monkeypatch.setattr(seals, "_whole", {})


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from(["a.npy", "below/b.bin", META]),
    place=st.integers(0, 5000),
    bit=st.integers(0, 7),
)
def test_no_changed_bit_of_a_small_folder_is_believed(tmp_path_factory, name, place, bit):
    root = tmp_path_factory.mktemp("cache")
    folder = open_folder(root)
    flip(folder.path / name, place, bit)
    seals._whole.clear()
    assert not open_folder(root).cached
    assert open_folder(root).cached


@pytest.mark.parametrize("name", ["a.npy", "below/b.bin"])
@pytest.mark.parametrize("damage", ["gone", "cut", "longer"])
def test_a_file_of_another_size_is_made_anew_and_said(tmp_path, capsys, name, damage):
    path = open_folder(tmp_path).path / name
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(CONTENT[name][:-1] if damage == "cut" else CONTENT[name] + b"x")
    assert not open_folder(tmp_path).cached
    said = capsys.readouterr().err
    assert said == f"warning: {path}: is not as it was written; made anew\n"
    assert open_folder(tmp_path).cached


def test_a_copy_with_other_times_is_read_as_it_is(tmp_path, monkeypatch):
    open_folder(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two", copy_function=shutil.copyfile)
    assert open_folder(tmp_path / "two").cached
    names = [name for name in CONTENT if name != "empty"]
    times = [
        [(tmp_path / root / "kind/key" / name).stat().st_mtime_ns for name in names]
        for root in ("one", "two")
    ]
    assert times[0] == times[1]
    monkeypatch.setattr(seals, "_sum", None)  # nothing is read again where nothing changed
    assert open_folder(tmp_path / "two").cached


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A file of many blocks, in a folder that is too large to be compared whole."""
    monkeypatch.setattr(seals, "BLOCK", 16)
    monkeypatch.setattr(seals, "WHOLE", 64)
    return open_folder(tmp_path).path / "a.npy"


@pytest.mark.parametrize("place", [3, 1279, 640])
def test_the_ends_of_a_large_file_are_compared_each_time(tmp_path, large, place):
    """The whole of it where it has another time."""
    flip(large, place)
    if place == 640:
        os.utime(large)
    seals._whole.clear()
    assert not open_folder(tmp_path).cached


def test_the_middle_of_a_large_file_is_sampled(tmp_path, large):
    flip(large, 640)
    for _ in range(2000):  # of 78 blocks one is drawn each time
        seals._whole.clear()
        if not Cache(tmp_path).folder("kind", "key", make).cached:
            break
    assert open_folder(tmp_path).cached


@pytest.mark.parametrize("damage", ["value", "type"])
def test_a_changed_value_of_a_database_is_made_anew(tmp_path, capsys, damage):
    cache = Cache(tmp_path)
    cache.put_many("kind", {"a": b"first", "b": b"second"})
    with closing(sqlite3.connect(tmp_path / "kind.sqlite")) as database, database:
        changed = b"fjrst" if damage == "value" else 5
        database.execute("UPDATE checked SET value = ? WHERE key = 'a'", (changed,))
    assert cache.get_many("kind", ["a", "b"]) == {"b": b"second"}
    said = f"warning: {tmp_path / 'kind.sqlite'}: 1 value not as stored, as of a; made anew\n"
    assert capsys.readouterr().err == said
    cache.put_many("kind", {"a": b"first"})
    assert cache.get_many("kind", ["a", "b"]) == {"a": b"first", "b": b"second"}
    assert capsys.readouterr().err == ""
