"""Seals of folders: the state of their files when written, to find those that have changed."""

import os
import random
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

BLOCK = 1 << 20
WHOLE = 32 * BLOCK  # a folder of at most this many bytes is compared whole
SAMPLED = 1  # blocks of a large file that are compared besides the first and the last


class SealedFile(NamedTuple):
    """The bytes of a file, when it was written, and the CRC-32 of each of its blocks.

    A checksum finds accidental damage; only its permissions protect the cache against attacks.
    """

    size: int
    modified: int
    checksums: Sequence[int]


Seal = Mapping[str, SealedFile]

# What was found whole in this process: the states of the files by folder.
_whole: dict[Path, Mapping[str, tuple[int, int, int]]] = {}


def seal(folder: Path) -> dict[str, SealedFile]:
    """Return the seal of the files below `folder`, by their path from there. All are read."""
    found = {}
    for name, path in _list_files(folder):
        state = path.stat()
        blocks = range(_count_blocks(state.st_size))
        found[name] = SealedFile(state.st_size, state.st_mtime_ns, _sum(path, blocks))
    return found


def find_changed(folder: Path, sealed: Seal, *, whole: bool = False) -> Path | None:
    """Return a file of `folder` that is not as it was sealed, None if all are.

    Files of a small folder are compared whole; of a large file that kept its time, the first, the
    last and a random block are. One with another time, as a copy has, is compared whole, and gets
    its time back. With `whole` every file is. Files that came later are not looked at.
    """
    states = {}
    for name in sealed:
        try:
            state = (folder / name).stat()
        except OSError:
            return folder / name
        states[name] = state.st_size, state.st_mtime_ns, state.st_ino
    if not whole and _whole.get(folder) == states:
        return None
    whole = whole or sum(item.size for item in sealed.values()) <= WHOLE
    for name, item in sealed.items():
        size, modified, _ = states[name]
        if size != item.size or _differs(folder / name, item, whole or modified != item.modified):
            return folder / name
        if modified != item.modified:
            with suppress(OSError):  # read-only
                os.utime(folder / name, ns=(modified, item.modified))
                states[name] = size, item.modified, states[name][2]
    _whole[folder] = states
    return None


def _differs(path: Path, item: SealedFile, whole: bool) -> bool:
    number = _count_blocks(item.size)
    if number != len(item.checksums):
        return True
    blocks: Sequence[int] = range(number)
    if not whole and number > SAMPLED + 2:
        blocks = [0, *random.sample(range(1, number - 1), SAMPLED), number - 1]
    try:
        return _sum(path, blocks) != [item.checksums[i] for i in blocks]
    except OSError:
        return True


def _sum(path: Path, blocks: Sequence[int]) -> list[int]:
    found = []
    with path.open("rb") as file:
        for i in blocks:
            file.seek(i * BLOCK)
            found.append(zlib.crc32(file.read(BLOCK)))
    return found


def _count_blocks(size: int) -> int:
    return -(-size // BLOCK)


def _list_files(folder: Path) -> list[tuple[str, Path]]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [(path.relative_to(folder).as_posix(), path) for path in paths]
