"""Chunks longer than memory should hold, in a file of the cache or made of their documents."""

import json
import mmap
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.store.lazy_sequence import ById, IdSequence, sort_places

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROWS = "rows.jsonl"
CHUNK_IDS, DOCUMENT_IDS = "chunk_ids.jsonl", "document_ids.jsonl"
ARRAYS = ("ends", "positions", "bounds")
FIELDS = tuple(field.name for field in fields(Chunk))


def describe_shared(one: str, other: str, id_: str) -> str:
    """Say that a chunk of each of two documents, or two of one, have the same id."""
    return f"{one} and {other}: two chunks share the id {id_}"


class ChunkStore(IdSequence[Chunk]):
    """Chunks in descending order of id; without `positions` each has a document of its own, by
    whose id it goes.
    """

    def __init__(
        self,
        hashes: "array[int] | NDArray[np.int64]",
        take: Callable[[int], Chunk],
        positions: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        super().__init__(hashes, take)
        self._positions = positions

    @property
    def by_document(self) -> Mapping[str, Sequence[int]]:
        """The positions of each document's chunks, in the order of the text."""
        return ById(self, lambda i: (i,)) if self._positions is None else self._positions


@dataclass(frozen=True, slots=True)
class _Group:
    """A document's id, and where its chunks stand."""

    id: str
    positions: Sequence[int]


def write_chunks(documents: Iterable[Sequence[Chunk]], folder: Path) -> int:
    """Write into `folder` the chunks of documents, given one document after the other; return how
    many there are.

    Memory holds the ids, and some 50 bytes a chunk. Raises AssayError when two share an id.
    """
    import numpy as np

    ids: list[str] = []
    starts, groups, ends = array("q"), array("i"), array("q", [0])
    names: list[str] = []
    with TemporaryDirectory(dir=folder) as held:
        unsorted = Path(held, ROWS)
        with unsorted.open("wb") as file:
            for chunks in documents:
                for chunk in chunks:
                    row = json.dumps(make_row(chunk), ensure_ascii=False)
                    ends.append(ends[-1] + file.write(f"{row}\n".encode()))
                    ids.append(chunk.id)
                    starts.append(chunk.start)
                    groups.append(len(names))
                names += [chunks[0].doc_id] if chunks else []
        order = np.array(sort_places(ids), np.int32)
        for one, other in pairwise(order.tolist()):
            if ids[one] == ids[other]:
                raise AssayError(
                    describe_shared(names[groups[one]], names[groups[other]], ids[one])
                )
        _copy_rows(unsorted, folder / ROWS, ends, order)
    _write_lines(folder / CHUNK_IDS, (ids[i] for i in order.tolist()))
    _write_lines(folder / DOCUMENT_IDS, names)
    sizes = np.diff(np.asarray(ends))[order]
    np.save(folder / "ends.npy", np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
    held_by = np.asarray(groups)[order]
    # As `Corpus` orders those it holds: by place, of equals the last first.
    places = np.lexsort((-np.arange(len(order)), np.asarray(starts)[order], held_by))
    np.save(folder / "positions.npy", places.astype(np.int32))
    bounds = np.searchsorted(held_by[places], np.arange(len(names) + 1))
    np.save(folder / "bounds.npy", bounds.astype(np.int64))
    return len(ids)


def read_chunks(folder: Path) -> ChunkStore:
    """Return the chunks that `write_chunks` wrote; rows and arrays are mapped into memory.

    Raises AssayError, ValueError or OSError where a file is missing or cut short.
    """
    import numpy as np

    # Plain views of the mapped files: numpy is slower on its memmap class.
    ends, positions, bounds = (
        np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in ARRAYS
    )
    with (folder / ROWS).open("rb") as file:
        rows = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if len(rows) != ends[-1]:
        raise AssayError(f"{folder / ROWS}: damaged: {len(rows):,} bytes of {ends[-1]:,}")

    def take(i: int) -> Chunk:
        return read_row(json.loads(rows[ends[i] : ends[i + 1]]))

    def take_group(i: int) -> _Group:
        own = positions[bounds[i] : bounds[i + 1]].tolist()
        return _Group(take(own[0]).doc_id, own)

    groups = IdSequence(_hash_lines(folder / DOCUMENT_IDS), take_group)
    by_document = ById(groups, lambda i: groups[i].positions)
    return ChunkStore(_hash_lines(folder / CHUNK_IDS), take, by_document)


def _copy_rows(source: Path, target: Path, ends: "array[int]", order: "NDArray[np.int32]") -> None:
    """Write the rows of `source` in `order`: what goes through all chunks then reads in a line."""
    with source.open("rb") as file, target.open("wb") as written:
        rows = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if ends[-1] else b""
        for i in order.tolist():
            written.write(rows[ends[i] : ends[i + 1]])


def make_row(chunk: Chunk) -> dict[str, Any]:
    """Return all fields of a chunk, as JSON may have them."""
    # `asdict` copies each value, and takes eight times as long.
    return {name: getattr(chunk, name) for name in FIELDS}


def read_row(row: Mapping[str, Any]) -> Chunk:
    """Return the chunk of `row`, which is read from the JSON of what `make_row` made."""
    values: dict[str, Any] = {
        key: tuple(item) if isinstance(item, list) else item for key, item in row.items()
    }
    return Chunk(**values)


def _write_lines(path: Path, names: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(name)}\n" for name in names)


def _hash_lines(path: Path) -> "array[int]":
    """Return Python's hash, which is another in each process, of each name in a file."""
    with path.open(encoding="utf-8") as file:
        return array("q", (hash(json.loads(line)) for line in file))
