"""Comparison of two periods of traffic: figures that changed between them."""

import re
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, hstack

from assay.eval.runs.json_form import in_json
from assay.eval.statistics.estimates import SEED
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.traces.personal_data import Masker
from assay.eval.studies.traces.traces import Trace
from assay.retrievers.base.folding import fold

DRAWS, AT_ONCE = 1999, 10
MOST_WORDS, LEAST_SESSIONS = 200, 10  # most words tested, and least sessions with each
LONG = 12  # words of a long query
SHARE, MEAN, MEDIAN = "share", "mean", "median"
Values = NDArray[np.float64]


class Search(NamedTuple):
    """A search, with the values compared between periods; `score` is its best score, or NaN."""

    text: str
    session: str
    found: int
    system: str
    score: float
    milliseconds: float


class Queries:
    """The distinct queries of both periods by number, equal if of equal words, and the systems."""

    def __init__(self) -> None:
        self.texts: list[str] = []  # the latest text of each
        self.systems: dict[str, int] = {}
        self.vocabulary: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._words, self._lengths = array("i"), array("i")

    def find(self, text: str) -> int:
        """Return the number of a query."""
        words = re.findall(r"\w+", fold(text).text)
        number = self._numbers.setdefault(" ".join(words) or text, len(self.texts))
        if number < len(self.texts):
            self.texts[number] = text
            return number
        self.texts.append(text)
        self._words.extend(self.vocabulary.setdefault(word, len(self.vocabulary)) for word in words)
        self._lengths.append(len(words))
        return number

    def lengths(self) -> NDArray[np.intc]:
        """Return the number of words of each query."""
        return np.frombuffer(self._lengths, np.intc)

    def words(self) -> csc_array:
        """Return a matrix, of shape (queries, words): 1 if the query has the word, else 0."""
        rows = np.repeat(np.arange(len(self.texts)), self.lengths())
        columns = np.frombuffer(self._words, np.intc)
        shape = len(self.texts), len(self.vocabulary)
        holds = csc_array((np.ones(len(rows)), (rows, columns)), shape)
        holds.data[:] = 1  # also for a word that occurs twice
        return holds


class Period:
    """The searches of a period, stored in columns because there may be millions."""

    def __init__(self, known: Queries) -> None:
        self.known = known
        self.queries, self.rows, self.found, self.systems = (array("i") for _ in range(4))
        self.scores, self.milliseconds = array("d"), array("d")
        self.sessions = 0
        self._rows: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.queries)

    def add(self, search: Search) -> None:
        """Add a search; a search without a session counts as its own session."""
        row = self.sessions
        if search.session:
            row = self._rows.setdefault(search.session, row)
        self.sessions += row == self.sessions
        self.rows.append(row)
        self.queries.append(self.known.find(search.text))
        self.found.append(search.found)
        self.systems.append(self.known.systems.setdefault(search.system, len(self.known.systems)))
        self.scores.append(search.score)
        self.milliseconds.append(search.milliseconds)


@in_json(..., "moved")
@dataclass(frozen=True, slots=True)
class Shift:
    """A figure in the earlier and in the later period.

    Attributes:
        what: The name of the figure.
        unit: The kind of figure: a share, a mean or a median.
        base: The figure over the searches of the earlier period.
        now: The figure over the searches of the later period.
        p: The p-value, adjusted for all tested figures.
    """

    what: str
    unit: str
    base: float
    now: float
    p: float

    @property
    def moved(self) -> bool:
        """True if the change is significant."""
        return self.p <= ALPHA


def read_search(trace: Trace, masker: Masker) -> Search:
    """Return the search of a trace, with its text masked."""
    score = trace.found[0].score if trace.found else None
    return Search(
        text=masker.mask(trace.query),
        session=trace.session,
        found=len(trace.found),
        system=trace.steps[-1].name,
        score=np.nan if score is None else score,
        milliseconds=trace.milliseconds,
    )


def find_shifts(base: Period, now: Period, nearest: Values | None = None) -> list[Shift]:
    """Return all tested figures, sorted by p-value.

    `nearest` is the similarity of each search of both periods to the nearest judged query. Sessions
    are assigned to the periods at random, so that searches of one session stay together; each
    difference of means, divided by its standard deviation over the draws, is compared with the
    largest of all figures in each draw (Westfall and Young 1993). So if nothing changed, any figure
    at all is found in 5 % of comparisons. Figures with a median are tested by ranks.
    """
    rows = np.concatenate([base.rows, np.array(now.rows) + base.sessions])
    later = np.arange(len(rows)) >= len(base)
    told, sums = [], []
    for what, unit, values in _list_columns(base, now, rows, nearest):
        told.append((what, unit, _tell(values[~later], unit), _tell(values[later], unit)))
        tested = _rank(values) if unit == MEDIAN else values
        sums.append(csc_array(np.bincount(rows, tested)[:, None]))
    p_values = _test(hstack(sums, "csr"), rows, later)
    shifts = [Shift(*about, float(p)) for about, p in zip(told, p_values, strict=True)]
    return sorted(shifts, key=lambda shift: shift.p)


def _list_columns(
    base: Period, now: Period, rows: NDArray[np.int64], nearest: Values | None
) -> Iterator[tuple[str, str, Values]]:
    """Yield the name, the unit and the values by search of each tested figure."""
    known = base.known
    queries = np.array(base.queries + now.queries)
    found = np.array(base.found + now.found)
    numbered = np.array([bool(re.search(r"\d", text)) for text in known.texts])
    lengths = known.lengths()[queries]
    yield from (
        ("found nothing", SHARE, (found == 0).astype(float)),
        ("documents returned", MEAN, found.astype(float)),
        ("milliseconds", MEDIAN, np.array(base.milliseconds + now.milliseconds)),
        ("words in a query", MEAN, lengths.astype(float)),
        (f"queries of {LONG} words or more", SHARE, (lengths >= LONG).astype(float)),
        ("queries with a number", SHARE, numbered[queries].astype(float)),
    )
    systems = base.systems + now.systems
    [(most, _)] = Counter(systems).most_common(1)
    scores = np.where(np.array(systems) == most, base.scores + now.scores, np.nan)
    if np.any(np.isfinite(scores)):
        yield f"best score of {list(known.systems)[most]}", MEDIAN, scores
    if nearest is not None:
        yield "similarity to a judged query", MEDIAN, nearest
    words = known.words()
    times = words.T @ np.bincount(queries, minlength=len(known.texts))
    names = list(known.vocabulary)
    often = sorted(range(len(names)), key=lambda word: (-times[word], names[word]))
    for word in often[:MOST_WORDS]:
        holds = words[:, [word]].toarray()[queries, 0]
        if len(np.unique(rows[holds > 0])) >= LEAST_SESSIONS:
            yield f"the word {names[word]}", SHARE, holds


def _test(sums: csr_array, rows: NDArray[np.int64], later: NDArray[np.bool_]) -> Values:
    """Return the adjusted p-value of each column.

    Args:
        sums: The sums of the values over the searches of a session, of shape (sessions, columns).
        rows: The session of each search.
        later: True for each search of the later period.
    """
    sessions, columns = sums.shape
    counts = np.bincount(rows, minlength=sessions).astype(float)
    total = sums.sum(axis=0)
    assigned = np.zeros(sessions, bool)
    assigned[rows[later]] = True

    def compare(places: NDArray[np.bool_]) -> Values:
        """Return differences of means, later minus earlier, for each row of `places`."""
        inside = places.astype(float) @ sums
        of = (places @ counts)[:, None]
        return np.asarray(inside / of - (total - inside) / (counts.sum() - of), float)

    rng = np.random.default_rng(SEED)
    differences = np.empty((DRAWS, columns))
    for begin in range(0, DRAWS, AT_ONCE):
        places = np.tile(assigned, (min(AT_ONCE, DRAWS - begin), 1))
        differences[begin : begin + AT_ONCE] = compare(rng.permuted(places, axis=1))
    spread = differences.std(axis=0)
    spread[spread == 0] = np.inf
    largest = np.abs(differences / spread).max(axis=1)
    seen = np.abs(compare(assigned[None])[0] / spread)
    beyond = np.count_nonzero(largest[:, None] >= seen - 1e-9, axis=0)
    return np.asarray((beyond + 1) / (DRAWS + 1), float)


def _rank(values: Values) -> Values:
    """Return the ranks of values, with average ranks for ties and the mean rank for NaN."""
    from scipy.stats import rankdata

    ranks = np.full(len(values), np.nan)
    known = np.isfinite(values)
    ranks[known] = rankdata(values[known])
    return np.where(known, ranks, np.nanmean(ranks) if known.any() else 0.0)


def _tell(values: Values, unit: str) -> float:
    known = values[np.isfinite(values)]
    if not len(known):
        return float("nan")
    return float(np.median(known) if unit == MEDIAN else np.mean(known))
