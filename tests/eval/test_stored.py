"""Stored runs: those that are damaged or half made are told, and a full disk leaves nothing."""

import errno
import io
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from planned_runs import make_collection, make_run

from eval import load_runs
from eval.collections.check import check_judged
from eval.runs.manifest import MANIFEST
from eval.runs.stored import load
from retrievers.base import AssayError
from retrievers.store.files import write_atomically


def test_runs_that_cannot_be_read_are_passed_over(tmp_path: Path, capsys) -> None:
    whole = make_run(tmp_path, "whole", [1, 2])
    damaged, empty, begun = (make_run(tmp_path, name, [1, 2]) for name in ("a", "b", "c"))
    (damaged.folder / "rankings.jsonl").unlink()
    (empty.folder / "queries.jsonl").write_text("")
    (empty.folder / "gold.jsonl").write_text("")
    (begun.folder / MANIFEST).unlink()
    assert [result.id for result in load_runs(reports=tmp_path)] == [whole.manifest.id]
    told = capsys.readouterr().err
    assert f"passed over: {damaged.folder}: its files are damaged: KeyError" in told
    assert f"passed over: {empty.folder}: a run of no queries" in told
    assert str(begun.folder) not in told


def test_what_cannot_be_measured_is_refused() -> None:
    collection = make_collection(3)
    check_judged(collection)
    with pytest.raises(AssayError, match=r"planned: no query is judged.*assay init FOLDER"):
        check_judged(replace(collection, queries=(), gold={}))
    with pytest.raises(AssayError, match=r"planned: none of its 3 judged queries.*no_answer"):
        check_judged(make_collection(3, grade=0))
    check_judged(make_collection(3, grade=0, types=["no_answer"]))


class FullFile(io.StringIO):
    """Takes what it is given, and finds no place for it."""

    def close(self) -> None:
        if not self.closed:
            super().close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch) -> None:
    opened: Callable[..., object] = Path.open

    def open_full(path: Path, mode: str = "r", *others: object, **options: object) -> object:
        return FullFile() if mode == "a" else opened(path, mode, *others, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", open_full)
        with pytest.raises(
            AssayError, match=r"placements\.jsonl: cannot be written: No space left on device"
        ):
            make_run(tmp_path, "full", [1, 2])
    (folder,) = tmp_path.glob("full-*")
    assert not (folder / MANIFEST).exists()
    # With some room again, the same run goes on in the same folder.
    assert make_run(tmp_path, "full", [1, 2]).folder == folder

    def fail(path: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "file").write_text("old")
    before = set(tmp_path.iterdir())
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(AssayError, match="file: cannot be written: No space left on device"):
        write_atomically(tmp_path / "file", b"new")
    assert set(tmp_path.iterdir()) == before
    assert load(folder).queries
