"""Two periods of traffic: what moved from one to the other."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import SEED
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.traces.personal_data import Masker
from assay.eval.studies.traces.traces import Trace
from assay.retrievers.base.folding import fold

DRAWS, AT_ONCE = 1999, 50
MOST_WORDS, LEAST_SESSIONS = 200, 10  # words that are tested, and sessions that have each
LONG = 12  # words of a long query
SHARE, MEAN, MEDIAN = "share", "mean", "median"
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Search:
    """A search as two periods are compared by it; `key` is the same where the words are."""

    key: str
    text: str
    time: int
    session: str
    words: tuple[str, ...]
    found: int
    system: str
    score: float
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Shift:
    """What a figure was over the searches of the earlier period, and is over those of the later.

    `unit` is that of the figure: a share, a mean or a median. `p` is adjusted for all that was
    tested.
    """

    what: str
    unit: str
    base: float
    now: float
    p: float

    @property
    def moved(self) -> bool:
        """Whether chance alone would seldom do this."""
        return self.p <= ALPHA

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        told = {name: getattr(self, name) for name in self.__slots__}
        return {**told, "moved": self.moved}


def read_searches(traces: Iterable[Trace], masker: Masker) -> list[Search]:
    """Return the searches of traces, with their texts masked."""
    searches = []
    for trace in traces:
        text = masker.mask(trace.query)
        # Interned: most words are in many queries, of which there may be millions.
        words = tuple(map(sys.intern, re.findall(r"\w+", fold(text).text)))
        score = trace.found[0].score if trace.found else None
        searches.append(
            Search(
                key=" ".join(words) or text,
                text=text,
                time=trace.time,
                session=trace.session or trace.id,
                words=words,
                found=len(trace.found),
                system=trace.steps[-1].name,
                score=np.nan if score is None else score,
                milliseconds=trace.milliseconds,
            )
        )
    return searches


def find_shifts(
    base: Sequence[Search], now: Sequence[Search], nearest: Sequence[float] = ()
) -> list[Shift]:
    """Return all figures that were tested, what is least likely by chance first.

    `nearest` is, of each search of both, its similarity to the nearest judged query. Sessions are
    drawn into the periods at random, so that searches of one session stay together; each
    difference of means, over its spread among the draws, is held against the largest of all in
    each draw (Westfall and Young 1993). So where nothing moved, anything at all is found in 5 % of
    comparisons. What has a median is tested by its ranks.
    """
    sessions: dict[tuple[bool, str], int] = {}
    periods = [(search, later) for later, part in enumerate((base, now)) for search in part]
    names = [(late > 0, search.session) for search, late in periods]
    rows = np.array([sessions.setdefault(name, len(sessions)) for name in names])
    later = np.array([late > 0 for _, late in periods])
    told, sums = [], []
    for what, unit, values in _list_columns([search for search, _ in periods], rows, nearest):
        told.append((what, unit, _tell(values[~later], unit), _tell(values[later], unit)))
        tested = _rank(values) if unit == MEDIAN else values
        sums.append(np.bincount(rows, tested - tested.mean()))
    p_values = _test(np.stack(sums, axis=1), rows, later)
    shifts = [Shift(*about, float(p)) for about, p in zip(told, p_values, strict=True)]
    return sorted(shifts, key=lambda shift: shift.p)


def _list_columns(
    searches: Sequence[Search], rows: NDArray[np.int64], nearest: Sequence[float]
) -> Iterator[tuple[str, str, Values]]:
    """Yield a name, a unit and a value for each search, of all that is tested."""
    lengths = np.array([len(search.words) for search in searches], float)
    yield from (
        ("found nothing", SHARE, np.array([not search.found for search in searches], float)),
        ("documents returned", MEAN, np.array([search.found for search in searches], float)),
        ("milliseconds", MEDIAN, np.array([search.milliseconds for search in searches], float)),
        ("words in a query", MEAN, lengths),
        (f"queries of {LONG} words or more", SHARE, (lengths >= LONG).astype(float)),
        (
            "queries with a number",
            SHARE,
            np.array([bool(re.search(r"\d", search.text)) for search in searches], float),
        ),
    )
    system = Counter(search.system for search in searches).most_common(1)[0][0]
    scores = np.array([i.score if i.system == system else np.nan for i in searches], float)
    if np.any(np.isfinite(scores)):
        yield f"best score of {system}", MEDIAN, scores
    if len(nearest):
        yield "similarity to a judged query", MEDIAN, np.asarray(nearest, float)
    known: dict[str, list[int]] = {}
    for i, search in enumerate(searches):
        for word in dict.fromkeys(search.words):
            known.setdefault(word, []).append(i)
    often = sorted(known, key=lambda word: (-len(known[word]), word))
    for word in often[:MOST_WORDS]:
        if len(np.unique(rows[known[word]])) >= LEAST_SESSIONS:
            holds = np.zeros(len(searches))
            holds[known[word]] = 1
            yield f"the word {word}", SHARE, holds


def _test(sums: Values, rows: NDArray[np.int64], later: NDArray[np.bool_]) -> Values:
    """Return the adjusted p-value of each column: `sums`, of shape (sessions, columns), are those
    of its differences from its mean over the searches, which are of the sessions `rows`.
    """
    sessions = len(sums)
    counts = np.bincount(rows, minlength=sessions).astype(float)
    assigned = np.zeros(sessions)
    assigned[rows[later]] = 1

    def compare(places: Values) -> Values:
        """Return differences of means, later minus earlier, for each row of `places`."""
        inside = places @ sums
        of = (places @ counts)[:, None]
        return np.asarray(inside / of - (sums.sum(axis=0) - inside) / (counts.sum() - of), float)

    rng = np.random.default_rng(SEED)
    drawn = []
    for begin in range(0, DRAWS, AT_ONCE):
        places = np.tile(assigned, (min(AT_ONCE, DRAWS - begin), 1))
        drawn.append(compare(rng.permuted(places, axis=1)))
    differences = np.concatenate(drawn)
    spread = differences.std(axis=0)
    spread[spread == 0] = np.inf
    largest = np.abs(differences / spread).max(axis=1)
    seen = np.abs(compare(assigned[None])[0] / spread)
    beyond = np.count_nonzero(largest[:, None] >= seen - 1e-9, axis=0)
    return np.asarray((beyond + 1) / (DRAWS + 1), float)


def _rank(values: Values) -> Values:
    """Return the ranks of values, equal ones alike; the mean rank for what is not a number."""
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
