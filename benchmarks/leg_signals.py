"""`python -m benchmarks.leg_signals`: does a signal without judgments say which leg to weigh more?

The two legs of `hybrid` search each collection once. A rule weighs the dense leg by a factor where
a signal lies on one side of a threshold, query by query or by the signal's mean over a collection.
Signal by signal the threshold, side and factor are those with the highest mean gain in nDCG@10 on
all other collections. Shown is what the rule then gains on the collections left out: the mean, and
the least and most.
"""

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from assay.eval import no_telemetry
from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.loading import load
from assay.eval.configs.config import load_config
from assay.eval.configs.resources import make_resources
from assay.eval.report.formats import signed
from assay.eval.scoring import measures
from assay.eval.scoring.join import JoinedHit, RetrievedChunk, join
from assay.retrievers.base import Chunk, Ranking, Retriever
from assay.retrievers.fusion.fusion import LinearSettings
from assay.retrievers.fusion.normalisation import measure_confidence
from benchmarks.defaults import MEASURE, SETS
from benchmarks.latency import ending_in_one_line

Array = NDArray[np.float64]
Joined = dict[str, list[JoinedHit]]
Legs = Mapping[str, Sequence[tuple[str, float]]]

FUSION = LinearSettings(type="linear", normalisation="min-max", confidence=True)  # hybrid's
DEPTH = 100
FACTORS = (0.25, 0.5, 2.0, 4.0)  # of the dense leg's weight, beside 1
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)  # where thresholds lie among all queries' signals
RANDOM = 100  # random queries of a collection
TOP = 10
WORD = re.compile(r"\w+")
DENSE, KEYWORD = "dense", "keyword"


@dataclass(frozen=True)
class Searched:
    """One collection: nDCG@10 by the dense leg's factor, and of each leg; signals; per query."""

    name: str
    gains: Mapping[float, Array]
    legs: Mapping[str, float]
    signals: Mapping[str, Array]


def main() -> None:
    """Print the table."""
    no_telemetry.disable()
    with ending_in_one_line():
        found = [_search(name) for name in sys.argv[1:] or (*SETS, "anthropic_docs")]
    for item in found:
        apart = item.legs[DENSE] - item.legs[KEYWORD]
        best = max(0.0, *(gain.mean() for gain in item.gains.values()))
        print(f"{item.name}: dense less BM25 {signed(apart)}, the best factor {signed(best)}")
    print("\n| signal | by query | by collection |\n|---|---:|---:|")
    for signal in found[0].signals:
        cells = (_describe(list(leave_out(found, signal, whole))) for whole in (False, True))
        print(f"| {signal} | {' | '.join(cells)} |", flush=True)


def leave_out(found: Sequence[Searched], signal: str, whole: bool) -> Iterator[float]:
    """Yield what the rule of all other collections gains on each."""
    for left in found:
        rule = _fit([item for item in found if item is not left], signal, whole)
        yield _apply(rule, left, signal, whole)


def _describe(gained: Sequence[float]) -> str:
    return f"{signed(float(np.mean(gained)))} ({signed(min(gained))} … {signed(max(gained))})"


def _fit(known: Sequence[Searched], signal: str, whole: bool) -> tuple[float, float, float]:
    """Return the threshold, the side (1: above, -1: below) and the factor of most mean gain."""
    pooled = np.concatenate([item.signals[signal] for item in known])
    if whole:
        pooled = np.array([item.signals[signal].mean() for item in known])
    rules = list(product(np.quantile(pooled, SHARES), (1.0, -1.0), FACTORS))
    gained = [np.mean([_apply(rule, item, signal, whole) for item in known]) for rule in rules]
    # Where no rule gains anything, none is applied.
    return rules[int(np.argmax(gained))] if max(gained) > 0 else (np.inf, 1.0, 1.0)


def _apply(rule: tuple[float, float, float], item: Searched, signal: str, whole: bool) -> float:
    threshold, side, factor = rule
    values = item.signals[signal]
    if whole:
        values = np.full_like(values, values.mean())
    beyond = side * values > side * threshold
    return float((beyond * item.gains[factor]).mean()) if beyond.any() else 0.0


def _search(name: str) -> Searched:
    collection, config = load(name), load_config("hybrid", (f"dataset={name}",))
    fused: dict[float, Joined] = {factor: {} for factor in (1.0, *FACTORS)}
    alone: dict[str, Joined] = {DENSE: {}, KEYWORD: {}}
    signals = []
    with config.build(make_resources()) as retriever:
        retriever.index(collection.documents)
        words = _count_documents(collection)
        usual = _search_at_random(retriever, collection)
        for query in collection.queries:
            ranking = retriever.search(query.text, DEPTH)
            legs = _list_legs(ranking)
            hits = [hit.chunk for hit in ranking.hits]
            chunks = sorted({*ranking.others, *hits}, key=lambda chunk: chunk.id)
            numbers = {chunk.id: number for number, chunk in enumerate(chunks)}
            given = {
                name: [(numbers[id_], value) for id_, value in leg] for name, leg in legs.items()
            }
            for factor, judged in fused.items():
                weighed = FUSION.model_copy(update={"weights": {DENSE: factor}}).fuse(given)
                judged[query.id] = _judge(weighed, chunks, collection, query)
            for leg, judged in alone.items():
                judged[query.id] = _judge(given[leg], chunks, collection, query)
            asked = _list_words(query.text)
            spread = {
                name: len({chunks[number].doc_id for number, _ in leg[:TOP]})
                for name, leg in given.items()
            }
            rarity = [np.log((len(collection.texts) + 1) / (words[word] + 0.5)) for word in asked]
            signals.append(
                dict(_measure(legs, usual))
                | {
                    "words of the query": len(asked),
                    "share of words in no document": np.mean([not words[word] for word in asked]),
                    "rarest word": max(rarity),
                    "documents in the first ten": spread[DENSE] - spread[KEYWORD],
                }
            )
    ndcg = {factor: _score(judged, collection) for factor, judged in fused.items()}
    return Searched(
        name,
        {factor: values - ndcg[1.0] for factor, values in ndcg.items()},
        {leg: float(_score(judged, collection).mean()) for leg, judged in alone.items()},
        {key: np.array([each[key] for each in signals], float) for key in signals[0]},
    )


def _measure(legs: Legs, usual: Mapping[str, tuple[float, float]]) -> Iterator[tuple[str, float]]:
    """Yield by name what the lists of one query tell; differences are dense less BM25."""
    first = [{id_ for id_, _ in legs[name][:TOP]} for name in (DENSE, KEYWORD)]
    yield "agreement of the first ten", len(first[0] & first[1]) / TOP
    gap, sure = {}, {}
    for name, (mean, deviation) in usual.items():
        scores = [value for _, value in legs[name]]
        gap[name] = (scores[0] - mean) / deviation if scores else 0.0
        sure[name] = measure_confidence(scores) if scores else 0.0
    yield "best score against random queries, dense", gap[DENSE]
    yield "the same, BM25", gap[KEYWORD]
    yield "the same, difference", gap[DENSE] - gap[KEYWORD]
    yield "confidence, difference", sure[DENSE] - sure[KEYWORD]


def _search_at_random(
    retriever: Retriever, collection: Collection
) -> dict[str, tuple[float, float]]:
    """Return mean and deviation of each leg's best score for words of the collection's own texts.

    A random query is as long as one of the collection, and each of its words of another document.
    """
    draw = random.Random(0)
    texts = [found for text in collection.texts.values() if (found := _list_words(text))]
    best: dict[str, list[float]] = {DENSE: [], KEYWORD: []}
    for _ in range(RANDOM):
        length = len(_list_words(draw.choice(collection.queries).text))
        query = " ".join(draw.choice(draw.choice(texts)) for _ in range(length))
        for name, leg in _list_legs(retriever.search(query, DEPTH)).items():
            best[name].append(leg[0][1] if leg else 0.0)
    return {name: (float(np.mean(each)), float(np.std(each)) or 1.0) for name, each in best.items()}


def _count_documents(collection: Collection) -> Counter[str]:
    return Counter(word for text in collection.texts.values() for word in set(_list_words(text)))


def _list_legs(ranking: Ranking) -> Legs:
    return {entry.name: entry.candidates for entry in ranking.trace if entry.kind == "leg"}


def _list_words(text: str) -> list[str]:
    return WORD.findall(text.casefold()) or [""]


def _judge(
    order: Sequence[tuple[int, float]],
    chunks: Sequence[Chunk],
    collection: Collection,
    query: Query,
) -> list[JoinedHit]:
    found = [chunks[number] for number, _ in order[:TOP]]
    hits = [RetrievedChunk(chunk, chunk.id in collection.prescribed) for chunk in found]
    return join(hits, collection.gold[query.id])


def _score(judged: Joined, collection: Collection) -> Array:
    gold = {id_: collection.gold[id_] for id_ in judged}
    found = measures.score([MEASURE], judged, gold)[MEASURE]
    return np.array([found[id_] for id_ in judged])


if __name__ == "__main__":
    main()
