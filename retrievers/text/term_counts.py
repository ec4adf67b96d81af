"""The counts of each term in each passage: all that BM25 needs from a corpus, whatever k1 and b.

Counting runs an analyzer over every text, which is most of the work of a keyword index; it is
therefore separate from the weights that a formula computes from the counts. Passages are counted
part by part, and the parts merged on disk, so that memory holds one part and the vocabulary.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from assay.retrievers.settings import Resources
from assay.retrievers.store.arrays import ArrayFile
from assay.retrievers.store.digest import digest
from assay.retrievers.store.lazy_sequence import take_block
from assay.retrievers.text import analyzers
from assay.retrievers.text.analyzers import AnyAnalyzerSettings

REVISION = 1  # raise it when an analyzer finds other terms, or the files differ
ARRAYS = ("passages", "counts", "starts", "lengths")
VOCABULARY = "vocabulary.json"
PART = 1 << 22  # terms counted at once
ENTRIES = 1 << 22  # of a table, held at once


@dataclass(frozen=True, slots=True)
class TermCounts:
    """A sparse matrix with a row per passage and a column per term, stored by column.

    `vocabulary` gives the column of a term. Column c has the numbers `passages[i]`, which rise, of
    the passages that hold its term, and how often each does, `counts[i]`, for `i` from
    `starts[c]` to `starts[c + 1]`. `lengths` has the number of terms of each passage.
    """

    vocabulary: Mapping[str, int]
    passages: NDArray[np.int32]
    counts: NDArray[np.int32]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """The number of passages that hold each term, by column."""
        return np.diff(self.starts)

    def split(self, entries: int = ENTRIES) -> Iterator[tuple[slice, slice]]:
        """Yield all columns, and the entries of them, in slices of one column or of several that
        have no more than `entries` together.
        """
        return _split(self.starts, entries)

    def list_terms(self) -> list[list[str]]:
        """Return the terms of each passage, as often as they occur there, in no order."""
        found: list[list[str]] = [[] for _ in self.lengths]
        for term, column in self.vocabulary.items():
            part = slice(self.starts[column], self.starts[column + 1])
            for passage, count in zip(self.passages[part], self.counts[part], strict=True):
                found[passage] += [term] * int(count)
        return found

    def save(self, folder: Path) -> None:
        """Write into `folder` what `load_counts` reads."""
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))
        (folder / VOCABULARY).write_text(json.dumps(self.vocabulary, ensure_ascii=False))


def count_terms(
    passages: Sequence[Sequence[str]], vocabulary: dict[str, int] | None = None
) -> TermCounts:
    """Count the terms of passages, given as lists of terms; new ones join `vocabulary`."""
    from scipy.sparse import coo_array

    vocabulary = {} if vocabulary is None else vocabulary
    columns = [
        vocabulary.setdefault(term, len(vocabulary)) for term in chain.from_iterable(passages)
    ]
    lengths = np.array([len(passage) for passage in passages], np.int64)
    rows = np.repeat(np.arange(len(passages), dtype=np.int32), lengths)
    ones = np.ones(len(columns), np.int32)
    shape = (len(passages), len(vocabulary))
    table = coo_array((ones, (rows, np.array(columns, np.int32))), shape).tocsc()
    table.sum_duplicates()
    return TermCounts(
        vocabulary,
        table.indices.astype(np.int32, copy=False),
        table.data,
        table.indptr.astype(np.int64, copy=False),
        lengths,
    )


def write_counts(
    passages: Iterable[Sequence[str]], folder: Path, part: int = PART, entries: int = ENTRIES
) -> None:
    """Write into `folder` what `count_terms` finds in all `passages`, `part` terms at a time.

    The counts are merged `entries` entries at a time.
    """
    vocabulary: dict[str, int] = {}
    lengths = [np.zeros(0, np.int64)]
    frequencies = np.zeros(0, np.int64)
    rest, size = iter(passages), 0
    with TemporaryDirectory(dir=folder) as name:
        parts: list[Path] = []
        while taken := take_block(rest, len, part):
            counted = count_terms(taken, vocabulary)
            frequencies = np.pad(frequencies, (0, len(vocabulary) - len(frequencies)))
            frequencies += counted.frequencies
            parts.append(Path(name, f"{len(parts)}.npy"))
            columns = np.arange(len(vocabulary), dtype=np.int32).repeat(counted.frequencies)
            np.save(parts[-1], np.stack([columns, counted.passages + size, counted.counts]))
            lengths.append(counted.lengths)
            size += len(taken)
        starts = np.concatenate([[0], np.cumsum(frequencies)]).astype(np.int64)
        _merge(parts, starts, entries, folder)
    np.save(folder / "starts.npy", starts)
    np.save(folder / "lengths.npy", np.concatenate(lengths))
    (folder / VOCABULARY).write_text(json.dumps(vocabulary, ensure_ascii=False))


def _merge(parts: Sequence[Path], starts: NDArray[np.int64], entries: int, folder: Path) -> None:
    """Write the entries of all `parts` by column, those of a column in the order of the parts."""
    with (
        ArrayFile(folder / "passages.npy", np.int32, int(starts[-1])) as passages,
        ArrayFile(folder / "counts.npy", np.int32, int(starts[-1])) as counts,
    ):
        done = [0] * len(parts)
        for columns, _ in _split(starts, entries):
            pieces = []
            for i, path in enumerate(parts):
                table = np.load(path, mmap_mode="r")
                begin, done[i] = done[i], int(np.searchsorted(table[0], columns.stop))
                pieces.append(np.array(table[:, begin : done[i]]))
            merged = np.concatenate(pieces, axis=1)
            order = np.argsort(merged[0], kind="stable")
            passages.add(merged[1][order])
            counts.add(merged[2][order])


def _split(starts: NDArray[np.int64], entries: int) -> Iterator[tuple[slice, slice]]:
    begin = 0
    while begin < len(starts) - 1:
        full = int(np.searchsorted(starts, starts[begin] + entries, side="right")) - 1
        end = max(begin + 1, full)
        yield slice(begin, end), slice(int(starts[begin]), int(starts[end]))
        begin = end


def load_counts(folder: Path) -> TermCounts:
    """Read what `TermCounts.save` wrote; the arrays are mapped into memory."""
    # Plain views of the mapped files: numpy is slower on its memmap class.
    arrays = [np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in ARRAYS]
    return TermCounts(json.loads((folder / VOCABULARY).read_text()), *arrays)


@dataclass(frozen=True, slots=True)
class CorpusCounts:
    """The counts of a corpus, their `key` in the cache, and the seconds that counting took.

    `doubt` is the reason why the analyzer does not suit the script of the texts; "" if it does.
    """

    counts: TermCounts
    key: str
    seconds: float
    cached: bool
    bytes: int
    doubt: str


def find_counts(
    texts: Sequence[str], content: str, settings: AnyAnalyzerSettings, resources: Resources
) -> CorpusCounts:
    """Count `texts`, whose digest is `content`, or find the counts in the cache."""
    key = digest(
        REVISION,
        settings,
        analyzers.find_versions(),
        content,
    )

    def make(folder: Path) -> None:
        analyze = settings.build().analyze
        tracked = resources.progress.track(texts, "counting terms", len(texts))
        write_counts(map(analyze, tracked), folder)

    folder, counts = resources.cache.load("terms", key, make, load_counts)
    size = sum(file.stat().st_size for file in folder.path.iterdir())
    doubt = analyzers.doubt(settings, texts)
    return CorpusCounts(counts, key, folder.seconds, folder.cached, size, doubt)
