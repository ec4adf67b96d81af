"""Rankings in TREC run files, by falling score."""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.formats.rows import LARGEST
from assay.retrievers.base import AssayError, cut

FORMATS = (
    "allowed: a TREC run (query-id Q0 id rank score tag, separated by white space), or JSON Lines "
    'with {"query_id": …, "ranking": [hits, best first] or null} and, optionally, "system", or one '
    "JSON document: a list of such rows, or {query id: {document id: score, …}, …}"
)
COLUMNS = ("query", "q0", "id", "rank", "score", "tag")
# White space other than blank, tab and line ends: that of ASCII, and other.
CONTROLS = "\v\f\x1c\x1d\x1e\x1f"
SPACES = (
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
TIED = (
    "scores are equal; there the ranks decide, then the lines, "
    "where trec_eval goes by id (--ties ids)"
)
CONTRADICTED = "ranks contradict scores; the scores decide, as in trec_eval"

# By what hits of equal scores are ordered.
Ties = Literal["ranks", "ids"]
Rankings = dict[str, dict[str, Sequence[str]]]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class _Words:
    """The distinct words of a column in order of appearance, and the index of each line's word."""

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


def read_trec(path: Path, text: str, ties: Ties) -> tuple[Rankings, tuple[str, ...]]:
    """Return the rankings by tag and query in the `text` of `path`, and notes on oddities.

    `ties` is that of `assay.eval.runs.run_files.read_run_file`. Raises AssayError, naming the line,
    where it is no TREC run, or an id stands twice.
    """
    lines = _read_plain(text) or _read_each(path, text)
    count = len(lines.queries.known)
    groups = lines.tags.codes * count + lines.queries.codes
    ranked, by_id = _order(lines, groups)
    order = by_id if ties == "ids" else ranked
    ids = np.array(lines.ids.known, dtype=object)[lines.ids.codes[order]]
    ordered = groups[order]
    begins = np.flatnonzero(~_repeats(ordered))
    rankings: Rankings = {tag: {} for tag in lines.tags.known}
    for group, ranking in zip(ordered[begins].tolist(), np.split(ids, begins[1:]), strict=True):
        tag, query = divmod(group, count)
        rankings[lines.tags.known[tag]][lines.queries.known[query]] = tuple(ranking.tolist())
    falls = np.append(False, np.diff(lines.ranks[ranked]) < 0) & _repeats(groups[ranked])
    tied, against = (
        [divmod(group, count) for group in sorted(set(groups[odd].tolist()))]
        for odd in (ranked[ranked != by_id], ranked[falls])
    )
    notes = []
    for i, tag in enumerate(lines.tags.known):
        for odd, what in ((tied if ties == "ranks" else [], TIED), (against, CONTRADICTED)):
            if found := [lines.queries.known[query] for of, query in odd if of == i]:
                many = f"in {len(found)} of {len(rankings[tag])} queries (first: {cut(found[0])})"
                notes.append(f"{path}: {cut(tag)}: {many} {what}")
    return rankings, tuple(notes)


def split_lines(text: str) -> list[str]:
    """Return the lines of a text; only ends of Unix, Windows and the old Macintosh count."""
    return list(io.StringIO(text, newline=None))


def _order(lines: _Lines, groups: Codes) -> tuple[Codes, Codes]:
    """Return the lines' orders by group and falling score.

    In the first, equal scores are ordered by rank, and by line if that is equal too. In the second,
    of scores in single precision, they are ordered by descending id.
    """
    ranked = np.lexsort((lines.ranks, -lines.scores, groups))
    with np.errstate(over="ignore"):
        single = lines.scores.astype(np.float32)
    if not np.any(_repeats(groups[ranked]) & _repeats(single[ranked])):
        return ranked, ranked
    alphabet = np.argsort(np.argsort(np.array(lines.ids.known, dtype=object)))
    return ranked, np.lexsort((-alphabet[lines.ids.codes], -single, groups))


def _repeats(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return a mask of the values that equal the one before."""
    return np.append(False, values[1:] == values[:-1])


def _read_plain(text: str) -> _Lines | None:
    """Read a run whose words are all separated by one blank, or all by one tab; None for others.

    It takes a fraction of the time; any fault is left to `_read_each`.
    """
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError:  # no part of the base install
        return None
    mark, other = (" ", "\t") if " " in text else ("\t", " ")
    odd = (mark * 2, other, *CONTROLS, *("" if text.isascii() else SPACES))
    if any(each in text for each in odd):
        return None
    word = pa.dictionary(pa.int32(), pa.string())
    types = {name: pa.float64() if name == "score" else word for name in COLUMNS if name != "q0"}
    try:
        table = csv.read_csv(
            io.BytesIO(text.encode()),
            # Threads take more than they save.
            csv.ReadOptions(column_names=COLUMNS, use_threads=False),
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
    if "" in tags.known or "" in queries.known or max(map(abs, numbers), default=0) > LARGEST:
        return None
    lines = _Lines(tags, queries, ids, np.array(numbers)[ranks.codes], scores)
    return lines if _is_sound(lines) else None


def _is_sound(lines: _Lines) -> bool:
    """Return True if all scores are finite, and no system ranks an id twice for a query."""
    systems = lines.tags.codes * len(lines.queries.known) + lines.queries.codes
    places = np.sort(systems * len(lines.ids.known) + lines.ids.codes)
    return bool(np.all(np.isfinite(lines.scores)) and not np.any(_repeats(places)))


def _read_each(path: Path, text: str) -> _Lines:
    """Read a run line by line. Raises AssayError for the first line that is wrong."""
    rows, known = [], set()
    for number, line in enumerate(split_lines(text), start=1):
        if not (words := line.split()):
            continue
        try:
            row = _read_line(words)
        except AssayError as error:
            raise AssayError(f"{path}:{number}: {error}") from None
        tag, query, id_ = place = row[:3]
        if place in known:
            raise AssayError(
                f"{path}:{number}: {cut(id_)} is ranked already by {cut(tag)} for {cut(query)}"
            )
        known.add(place)
        rows.append(row)
    return _Lines(
        _encode([row[0] for row in rows]),
        _encode([row[1] for row in rows]),
        _encode([row[2] for row in rows]),
        np.array([row[3] for row in rows], np.int64),
        np.array([row[4] for row in rows], np.float64),
    )


def _read_line(words: Sequence[str]) -> tuple[str, str, str, int, float]:
    """Return tag, query, id, rank and score of a line, given its words. Raises AssayError."""
    if len(words) < len(COLUMNS):
        raise AssayError(f"not {len(COLUMNS)} columns but {len(words)}; {FORMATS}")
    # trec_eval reads the first six words of a line, and no further.
    query, _, id_, place, text, tag = words[: len(COLUMNS)]
    try:
        score = float(text)
    except ValueError:
        raise AssayError(f"the score {cut(text)} is not a number; {FORMATS}") from None
    if not math.isfinite(score):
        raise AssayError(f"the score {text} is not a finite number")
    try:
        rank = int(place)
    except ValueError:
        raise AssayError(f"the rank {cut(place)} is not a whole number; {FORMATS}") from None
    if abs(rank) > LARGEST:
        raise AssayError(f"the rank {cut(place)} is not within ±{LARGEST:,}")
    return tag, query, id_, rank, score


def _encode(words: Sequence[str]) -> _Words:
    codes = {word: i for i, word in enumerate(dict.fromkeys(words))}
    return _Words(list(codes), np.fromiter(map(codes.__getitem__, words), np.int64, len(words)))
