"""Files are whole, and on the disk, before they get their names."""

import os
from pathlib import Path

import pytest

from assay.retrievers.store.files import write_atomically


def test_a_file_is_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, str]] = []
    sync, rename = os.fsync, Path.replace

    def note_sync(number: int) -> None:
        done.append(("synced", Path(f"/proc/self/fd/{number}").readlink().read_text()))
        sync(number)

    def note_rename(self: Path, target: Path) -> Path:
        done.append(("named", self.read_text()))
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "replace", note_rename)
    write_atomically(tmp_path / "new" / "grades.jsonl", b"all of it")
    assert done == [("synced", "all of it"), ("named", "all of it")]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["grades.jsonl"]
