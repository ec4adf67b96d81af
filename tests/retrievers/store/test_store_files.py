"""Files are whole, and on the disk, before they get their names."""

import errno
import os
from pathlib import Path

import pytest

from assay.retrievers.base import AssayError
from assay.retrievers.store.files import append, write_atomically, writing


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    done = []
    sync, rename = os.fsync, Path.replace

    def note_sync(number):
        partial = Path(f"/proc/self/fd/{number}").readlink()
        assert partial.name == f".grades.jsonl.{os.getpid()}", "it is hidden"
        done.append(("synced", partial.read_text()))
        sync(number)

    def note_rename(self, target):
        done.append(("named", self.read_text()))
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "replace", note_rename)
    for _ in range(2):
        write_atomically(tmp_path / "new" / "grades.jsonl", b"all of it")
    assert done == [("synced", "all of it"), ("named", "all of it")] * 2
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["grades.jsonl"]


def test_what_a_disk_refuses_is_told_and_what_a_network_says_is_not(tmp_path, monkeypatch):
    path = tmp_path / "a" / "b" / "x.jsonl"
    with pytest.raises(AssayError, match=f"^{path}: cannot be written: No such file or directory$"):
        append(path, "x")
    write_atomically(path, b"one\n")
    append(path, "two\n")
    assert path.read_text() == "one\ntwo\n"
    for error in (ConnectionResetError(104, "reset"), TimeoutError(110, "late"), OSError("odd")):
        with pytest.raises(type(error)), writing(path):
            raise error
    (tmp_path / "folder").mkdir()
    with pytest.raises(AssayError, match="folder: cannot be written: "):
        write_atomically(tmp_path / "folder", b"x")
    with pytest.raises(AssayError, match="a file stands where a folder is needed"):
        write_atomically(path / "below", b"x")
    with pytest.raises(AssayError, match="File name too long"):
        write_atomically(tmp_path / ("x" * 300), b"content")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a", "folder"]
    longest = tmp_path / ("x" * 255)
    write_atomically(longest, b"whole")
    assert longest.read_bytes() == b"whole"

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(AssayError, match="x: cannot be written: No space left"):
        write_atomically(tmp_path / "x", b"")
