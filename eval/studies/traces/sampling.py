"""Which queries of traffic are to be judged: a sample in which every chance is known."""

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
LOWEST = 10  # percent of the best scores of a system that are low
LEAST = 6  # queries of a stratum; of fewer, variance is guessed too low


@dataclass(slots=True)
class TrafficQuery:
    """A query with all that ask the same words: how often, and one of its searches at random.

    That is `trace`, made at `time`, which found nothing, or whose best hit has `score` by `system`.
    `stratum` has `members` queries, of which `drawn` are in the sample, and `searches`.
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
        """Return how it was sampled, for its metadata; the traffic is `of` searches in all."""
        return {
            "frequency": self.frequency,
            "stratum": self.stratum,
            "members": self.members,
            "drawn": self.drawn,
            "searches": self.searches,
            "of": of,
        }


def merge(traces: Iterable[Trace], masker: Masker, seed: int) -> list[TrafficQuery]:
    """Return the queries of `traces`, masked, those of the same words in the same order as one.

    Case, accents, punctuation and blanks make no other words; other spellings do.
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
    """Return `number` of `queries`, or all if there are no more, each with its stratum.

    Those asked so often that they are worth a place of their own are all taken, and come first, so
    that they are judged. The others follow in random order. Their strata are how often they were
    asked; whether they found nothing, or their best score was among the lowest tenth; and the half
    of the time: as many of these as leave six places to each stratum. It gets places by its share
    of the traffic.
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
    """Return the identities of queries whose best score is among the lowest of their system."""
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
    """Return the stratum of a query, of less detail where there are few places."""
    outcome = NOTHING if not query.found else LOW if id(query) in low else ""
    step = (query.frequency.bit_length() - 1) // 2  # powers of 4
    often = f"asked {4**step} to {4 ** (step + 1) - 1} times"
    half = "earlier half" if query.time < middle else "later half"
    parts = (often if detail else "", outcome if detail > 1 else "", half if detail > 2 else "")
    return ", ".join(filter(None, parts)) or "others"


def _allocate(groups: Sequence[Sequence[TrafficQuery]], number: int) -> list[int]:
    """Return how many of each group are taken, `number` in all where there are as many."""
    traffic = [sum(query.frequency for query in group) for group in groups]
    taken = [min(LEAST, len(group), number) for group in groups]
    number = min(number, sum(map(len, groups)))
    while sum(taken) < number:
        # Who is furthest below its share of the traffic.
        open_ = [i for i, group in enumerate(groups) if taken[i] < len(group)]
        taken[max(open_, key=lambda i: traffic[i] / (taken[i] + 0.5))] += 1
    return taken
