"""The cache on a disk that refuses: read-only, full, and with a database that is none."""

import errno
from pathlib import Path

import pytest
from unprivileged import forbid_writing, run_unprivileged

from retrievers.base import AssayError
from retrievers.store.cache import Cache
from retrievers.store.files import write_atomically

READ = """
import sys
from pathlib import Path
from retrievers.base import AssayError
from retrievers.store.cache import Cache
cache = Cache(Path(sys.argv[1]))
print(cache.get_many("kind", ["a", "b"]), cache.folder("folders", "key", None).cached)
print([(item.kind, item.entries) for item in cache.usage()])
for write in (lambda: cache.put_many("kind", {"c": b"3"}), lambda: cache.clear("kind"),
              lambda: cache.folder("folders", "other", lambda path: None)):
    try:
        write()
    except AssayError as error:
        print(error)
"""


def fill(root: Path) -> None:
    cache = Cache(root)
    cache.put_many("kind", {"a": b"1"})
    cache.folder("folders", "key", lambda path: None)


@pytest.mark.parametrize("read_before", [False, True])
def test_a_warm_cache_that_may_not_be_written_is_read(tmp_path: Path, read_before: bool) -> None:
    root = tmp_path / "cache"
    fill(root)
    if read_before:
        Cache(root).get_many("kind", ["a"])
    forbid_writing(root)
    done = run_unprivileged("-c", READ, str(root))
    lines = done.stdout.splitlines()
    assert lines[:2] == ["{'a': b'1'} True", "[('folders', 1), ('kind', 1)]"], done.stderr
    assert len(lines) == 5
    assert all("cannot be written: Permission denied" in line for line in lines[2:])


def test_reading_makes_no_file(tmp_path: Path) -> None:
    fill(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    Cache(tmp_path).get_many("nothing", ["a"])
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"x" * 99])
@pytest.mark.parametrize("how", ["get", "put", "usage", "clear"])
def test_a_broken_database_is_set_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, how: str
) -> None:
    (tmp_path / "kind.sqlite").write_bytes(content)
    cache = Cache(tmp_path)
    if how == "get":
        assert cache.get_many("kind", ["a"]) == {}
    elif how == "usage":
        assert [item.entries for item in cache.usage()] == [0]
    elif how == "clear":
        assert [item.kind for item in cache.clear()] == ["kind"]
        assert list(tmp_path.glob("kind*")) == []
    said = capsys.readouterr().err
    cache.put_many("kind", {"a": b"1"})
    said += capsys.readouterr().err
    assert said.count("\n") == said.count("set aside as kind.sqlite.broken-") == 1
    assert cache.get_many("kind", ["a"]) == {"a": b"1"}


def test_a_damaged_page_is_set_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = Cache(tmp_path)
    cache.put_many("kind", {f"key{number}": b"x" * 500 for number in range(500)})
    path = tmp_path / "kind.sqlite"
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xee" * (path.stat().st_size - 4096))
    assert cache.get_many("kind", ["key1"]) == {}
    assert "set aside" in capsys.readouterr().err
    cache.put_many("kind", {"key1": b"2"})
    assert cache.get_many("kind", ["key1"]) == {"key1": b"2"}


def test_a_database_without_its_table_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "kind.sqlite").touch()
    cache = Cache(tmp_path)
    assert cache.get_many("kind", ["a"]) == {}
    cache.put_many("kind", {"a": b"1"})
    assert cache.get_many("kind", ["a"]) == {"a": b"1"}


def test_a_full_disk_leaves_no_folder(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        (path / "part").write_text("part")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(AssayError, match=r"key: cannot be written: No space left on device"):
        Cache(tmp_path).folder("kind", "key", fail)
    assert [path.name for path in (tmp_path / "kind").iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("failing", ["write_bytes", "replace"])
def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    def fail(self: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, failing, fail)
    with pytest.raises(AssayError, match=r"file: cannot be written: No space left on device"):
        write_atomically(path, b"after")
    assert [(item.name, item.read_text()) for item in tmp_path.iterdir()] == [("file", "before")]


def test_a_long_name_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)
    write_atomically(path, b"content")
    assert path.read_bytes() == b"content"
    with pytest.raises(AssayError, match="File name too long"):
        write_atomically(tmp_path / ("x" * 300), b"content")
