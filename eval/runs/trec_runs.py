"""Rankings in TREC run files: by falling score, equal scores by rank, and then by descending id."""

import codecs
import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eval.collections.formats.rows import LARGEST
from retrievers.base import AssayError

FORMATS = (
    "allowed: a TREC run (query-id Q0 id rank score tag, separated by white space), or JSON Lines "
    'with {"query_id": …, "ranking": [hits, best first] or null} and, if you like, "system"'
)
COLUMNS = ("query", "q0", "id", "rank", "score", "tag")
# White space beside blank, tab and line ends: that of ASCII, and other.
CONTROLS = "\v\f\x1c\x1d\x1e\x1f"
SPACES = (
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

Rankings = dict[str, dict[str, Sequence[str]]]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class _Words:
    """The words of a column, each once as they come first, and by line which of them it is."""

    known: Sequence[str]
    codes: Codes


@dataclass(frozen=True)
class _Lines:
    """A run by columns, in the order of its lines."""

    tags: _Words
    queries: _Words
    ids: _Words
    ranks: Codes
    scores: NDArray[np.float64]


def read_trec(path: Path, content: bytes) -> tuple[Rankings, tuple[str, ...]]:
    """Return the rankings by tag and query in the `content` of `path`, and lines on what is odd.

    Raises AssayError, naming the line, where it is no TREC run.
    """
    lines = _read_plain(content.removeprefix(codecs.BOM_UTF8)) or _read_each(path, content)
    if not len(lines.scores):
        return {}, ()
    count = len(lines.queries.known)
    groups = lines.tags.codes * count + lines.queries.codes
    order, tied, against = _order(lines, groups)
    ids = np.array(lines.ids.known, dtype=object)[lines.ids.codes[order]]
    found, begins = np.unique(groups[order], return_index=True)
    rankings: Rankings = {tag: {} for tag in lines.tags.known}
    for group, ranking in zip(found.tolist(), np.split(ids, begins[1:]), strict=True):
        tag, query = divmod(group, count)
        rankings[lines.tags.known[tag]][lines.queries.known[query]] = tuple(ranking.tolist())
    notes = []
    ties, contradictions = (Counter((odd // count).tolist()) for odd in (tied, against))
    for at, tag in enumerate(lines.tags.known):
        where = f"{path}: {tag}: in %d of {len(rankings[tag])} queries"
        if ties[at]:
            notes.append(f"{where % ties[at]} scores are equal; there the ranks decide")
        if contradictions[at]:
            notes.append(f"{where % contradictions[at]} ranks contradict scores; the scores decide")
    return rankings, tuple(notes)


def split_lines(path: Path, content: bytes) -> list[str]:
    """Return the lines of a file in UTF-8. Raises AssayError where it is not."""
    try:
        return content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise AssayError(f"{path}: cannot be read: {error}") from None


def _order(lines: _Lines, groups: Codes) -> tuple[Codes, Codes, Codes]:
    """Return the lines' order by group, and the groups that ties and contradicting ranks are in."""
    order = np.lexsort((lines.ranks, -lines.scores, groups))
    tied = np.zeros(0, dtype=np.int64)
    if np.any(_repeats(groups[order]) & _repeats(lines.scores[order])):
        alphabet = np.argsort(np.argsort(np.array(lines.ids.known, dtype=object)))
        descending = -alphabet[lines.ids.codes]
        order = np.lexsort((descending, lines.ranks, -lines.scores, groups))
        by_id = np.lexsort((descending, -lines.scores, groups))
        tied = np.unique(groups[order[order != by_id]])
    ranks = lines.ranks[order]
    falls = np.append(False, ranks[1:] < ranks[:-1])
    return order, tied, np.unique(groups[order][_repeats(groups[order]) & falls])


def _repeats(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Say of each value whether it is the one before it, too."""
    return np.append(False, values[1:] == values[:-1])


def _read_plain(content: bytes) -> _Lines | None:
    """Read a run whose words are all parted by one blank, or all by one tab; None of another.

    It takes a fraction of the time; whatever may be wrong is left to `_read_each`.
    """
    import pyarrow as pa
    from pyarrow import csv

    mark, other = (" ", "\t") if b" " in content else ("\t", " ")
    odd = (mark * 2, other, *CONTROLS, *("" if content.isascii() else SPACES))
    if any(text.encode() in content for text in odd):
        return None
    word = pa.dictionary(pa.int32(), pa.string())
    types = {name: pa.float64() if name == "score" else word for name in COLUMNS if name != "q0"}
    try:
        table = csv.read_csv(
            io.BytesIO(content),
            csv.ReadOptions(column_names=COLUMNS),
            csv.ParseOptions(delimiter=mark, quote_char=False),
            csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[]),
        ).unify_dictionaries()
        tags, queries, ids, ranks = (
            _Words(part.dictionary.to_pylist(), np.from_dlpack(part.indices).astype(np.int64))
            for part in (table[name].combine_chunks() for name in ("tag", "query", "id", "rank"))
        )
        numbers = [int(text) for text in ranks.known]
    except ValueError:
        return None
    # What pyarrow itself makes NumPy's array with imports pandas, for half a second.
    scores = np.from_dlpack(table["score"].combine_chunks()).astype(np.float64)
    blank = "" in tags.known or "" in queries.known
    if blank or max(map(abs, numbers), default=0) > LARGEST or not np.all(np.isfinite(scores)):
        return None
    return _Lines(tags, queries, ids, np.array(numbers)[ranks.codes], scores)


def _read_each(path: Path, content: bytes) -> _Lines:
    """Read a run line by line. Raises AssayError."""
    tags, queries, ids, ranks, scores = [], [], [], [], []
    for number, line in enumerate(split_lines(path, content), start=1):
        parts = line.split()
        if not parts:
            continue
        try:
            query, _, id_, place, text, tag = parts
            score, rank = float(text), int(place)
        except ValueError:
            raise AssayError(f"{path}:{number}: not a line of a TREC run; {FORMATS}") from None
        if not math.isfinite(score):
            raise AssayError(f"{path}:{number}: the score {text} is not a finite number")
        if abs(rank) > LARGEST:
            raise AssayError(f"{path}:{number}: the rank {place} is not within ±{LARGEST:,}")
        tags.append(tag)
        queries.append(query)
        ids.append(id_)
        ranks.append(rank)
        scores.append(score)
    return _Lines(
        _encode(tags),
        _encode(queries),
        _encode(ids),
        np.array(ranks, dtype=np.int64),
        np.array(scores, dtype=np.float64),
    )


def _encode(words: Sequence[str]) -> _Words:
    codes = {word: at for at, word in enumerate(dict.fromkeys(words))}
    return _Words(list(codes), np.array([codes[word] for word in words], dtype=np.int64))
