"""Sampling of queries of traffic to judge, with known inclusion probabilities."""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from assay.eval.studies.traces.personal_data import Masker
from assay.eval.studies.traces.traces import Trace
from assay.retrievers.base.folding import fold

CERTAIN, NOTHING, LOW = "asked most, all taken", "found nothing", "low score"
LOWEST = 10  # percentile of the best scores of a system below which a score is low
LEAST = 6  # queries of a stratum; with fewer, the variance is underestimated


@dataclass(slots=True)
class TrafficQuery:
    """A query of traffic, with all searches of the same words.

    Attributes:
        text: The text of one of its searches, drawn at random.
        trace: The trace of that search.
        time: The time of that search.
        frequency: The number of its searches.
        found: True if that search found something.
        system: The name of the last step of that search.
        score: The score of its best hit.
        stratum: The stratum of the query.
        members: The number of queries of the stratum.
        drawn: The number of queries of the stratum in the sample.
        searches: The number of searches of the stratum.
    """

    text: str
    trace: str = ""
    time: int = 0
    frequency: int = 0
    found: bool = True
    system: str = ""
    score: float | None = None
    stratum: str = ""
    members: int = 0
    drawn: int = 0
    searches: int = 0

    def tell_chance(self, of: int) -> dict[str, Any]:
        """Return its sampling metadata; `of` is the number of searches of the traffic."""
        return {
            "frequency": self.frequency,
            "stratum": self.stratum,
            "members": self.members,
            "drawn": self.drawn,
            "searches": self.searches,
            "of": of,
        }


def merge(traces: Iterable[Trace], masker: Masker, seed: int) -> list[TrafficQuery]:
    """Return the masked queries of `traces`, merged if they have the same words in the same order.

    Case, accents, punctuation and blanks are ignored; different spellings are different words.
    """
    rng = random.Random(seed)
    known: dict[str, TrafficQuery] = {}
    for trace in traces:
        text = masker.mask(trace.query)
        key = " ".join(re.findall(r"\w+", fold(text).text)) or text
        query = known.setdefault(key, TrafficQuery(text))
        query.frequency += 1
        if rng.random() < 1 / query.frequency:
            query.text, query.trace, query.time = text, trace.id, trace.time
            query.found, query.system = bool(trace.found), trace.steps[-1].name
            query.score = trace.found[0].score if trace.found else None
    return list(known.values())


def draw(queries: Sequence[TrafficQuery], number: int, seed: int) -> list[TrafficQuery]:
    """Draw `number` of `queries`, or all if there are no more, each with its stratum.

    Queries whose share of the traffic is worth at least one place are all taken, and come first, so
    that they are judged. The others follow in random order. Their strata are formed by frequency;
    by outcome, that is no results, or a best score in the lowest tenth; and by half of the period:
    as many of these as leave six places to each stratum. A stratum gets places by its share of the
    traffic.
    """
    rng = random.Random(seed)
    rest = sorted(queries, key=lambda query: (-query.frequency, query.time, query.trace))
    certain: list[TrafficQuery] = []
    traffic = sum(query.frequency for query in rest)
    while len(certain) < number and rest:
        if rest[0].frequency * (number - len(certain)) < traffic:
            break
        certain.append(rest.pop(0))
        traffic -= certain[-1].frequency
    low = _find_low(rest)
    strata = [(CERTAIN, certain, len(certain))] if certain else []
    left = number - len(certain)
    middle = sorted(query.time for query in rest)[len(rest) // 2] if rest else 0
    for detail in (3, 2, 1, 0):
        named = {id(query): _name(query, low, middle, detail) for query in rest}
        ordered = sorted(rest, key=lambda query: (named[id(query)], query.time, query.trace))
        groups = [
            (name, list(group)) for name, group in groupby(ordered, key=lambda i: named[id(i)])
        ]
        if LEAST * len(groups) <= left or not detail:
            break
    places = _allocate([group for _, group in groups], left)
    strata += [(*group, taken) for group, taken in zip(groups, places, strict=True)]
    sample = []
    for name, group, taken in strata:
        traffic = sum(query.frequency for query in group)
        for query in rng.sample(group, taken):
            query.stratum, query.members, query.drawn = name, len(group), taken
            query.searches = traffic
            sample.append(query)
    first = len(certain)
    others = sample[first:]
    rng.shuffle(others)
    return sample[:first] + others


def _find_low(queries: Sequence[TrafficQuery]) -> set[int]:
    """Return the ids (of `id`) of queries whose best score is among the lowest of their system."""
    scores: dict[str, list[float]] = {}
    for query in queries:
        if query.score is not None:
            scores.setdefault(query.system, []).append(query.score)
    bounds = {name: float(np.percentile(known, LOWEST)) for name, known in scores.items()}
    return {
        id(query)
        for query in queries
        if query.score is not None and query.score < bounds[query.system]
    }


def _name(query: TrafficQuery, low: set[int], middle: int, detail: int) -> str:
    """Return the stratum of a query; `detail`, from 0 to 3, is the number of its properties."""
    outcome = NOTHING if not query.found else LOW if id(query) in low else ""
    step = (query.frequency.bit_length() - 1) // 2  # powers of 4
    often = f"asked {4**step} to {4 ** (step + 1) - 1} times"
    half = "earlier half" if query.time < middle else "later half"
    parts = (often if detail else "", outcome if detail > 1 else "", half if detail > 2 else "")
    return ", ".join(filter(None, parts)) or "others"


def _allocate(groups: Sequence[Sequence[TrafficQuery]], number: int) -> list[int]:
    """Return the number of queries to take of each group, `number` in total if there are enough."""
    traffic = [sum(query.frequency for query in group) for group in groups]
    taken = [min(LEAST, len(group), number) for group in groups]
    number = min(number, sum(map(len, groups)))
    while sum(taken) < number:
        # The group furthest below its share of the traffic.
        open_ = [i for i, group in enumerate(groups) if taken[i] < len(group)]
        taken[max(open_, key=lambda i: traffic[i] / (taken[i] + 0.5))] += 1
    return taken
