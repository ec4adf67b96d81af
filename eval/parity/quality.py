"""What an engine's own fusion is worth beside ours of the same two lists, and beside each list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.analysis.differences import Contrast, Difference, judge_family
from eval.analysis.means import estimate_scores
from eval.collections.collection import Collection, Query
from eval.runs.gold_ranks import matches_itself
from eval.scoring import measures
from eval.scoring.calculation import Scores
from eval.scoring.join import Retrieved, join
from eval.statistics.estimates import Estimate
from retrievers.base import Chunk

DENSE, KEYWORD, NATIVE, OURS = SYSTEMS = ("dense", "keyword", "native", "ours")
MEASURES = ("nDCG@10", "R@20", "Success@3")

# Chunks best first, by query id.
Rankings = Mapping[str, Sequence[Chunk]]


@dataclass(frozen=True)
class Quality:
    """Means by system and measure; `differences` are native minus ours, adjusted over measures."""

    means: Mapping[str, Mapping[str, Estimate]]
    differences: tuple[Difference, ...]


def measure_quality(
    collection: Collection, queries: Sequence[Query], rankings: Mapping[str, Rankings]
) -> Quality:
    """Score the `rankings` of each system; a query that one of them lacks has no results there."""
    scores = {
        system: score_rankings(collection, queries, found, MEASURES)
        for system, found in rankings.items()
    }
    contrasts = [Contrast(name, "", scores[OURS][name], scores[NATIVE][name]) for name in MEASURES]
    return Quality(
        means={
            system: {name: estimate_scores(name, found[name].values()) for name in MEASURES}
            for system, found in scores.items()
        },
        differences=tuple(judge_family(contrasts)),
    )


def score_rankings(
    collection: Collection, queries: Sequence[Query], found: Rankings, names: Sequence[str]
) -> Scores:
    """Return {measure: {query id: score}}, as a stored run of these rankings would have them."""
    joined = {
        query.id: join(
            [
                Retrieved(chunk, chunk.id in collection.prescribed)
                for chunk in found.get(query.id, ())
                if not (collection.drop_self_matches and matches_itself(query.id, chunk))
            ],
            collection.gold[query.id],
        )
        for query in queries
    }
    return measures.score(names, joined, {query.id: collection.gold[query.id] for query in queries})
