"""What an engine's own fusion is worth beside ours of the same two lists, and beside each list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.eval.collections.collection import Collection, Query
from assay.eval.runs.gold_ranks import matches_itself
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.means import estimate_means
from assay.eval.scoring import measures
from assay.eval.scoring.calculation import Scores
from assay.eval.scoring.join import RetrievedChunk, join
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.comparison.differences import Contrast, Difference, judge_family
from assay.retrievers.base import Chunk

DENSE, KEYWORD, NATIVE, OURS = TIMED = ("dense", "keyword", "native", "ours")
HYBRID = "hybrid"  # what the config of that name makes of the same two lists
MEASURES = ("nDCG@10", "Recall@20", "Hit@3")
MEASURE = MEASURES[0]  # what the native fusion is compared by with each of BASES
BETTER = "better"  # the list of the two that scores higher on these queries
BASES = (HYBRID, OURS, BETTER)

# Chunks best first, by query id.
Rankings = Mapping[str, Sequence[Chunk]]


@dataclass(frozen=True)
class Quality:
    """Means by system and measure; `differences` are native minus ours, adjusted over measures.

    `against` has by each of BASES how far the native nDCG@10 is above, adjusted together. `claims`
    are what the queries can be a verdict on.
    """

    means: Mapping[str, Mapping[str, Estimate]]
    differences: tuple[Difference, ...]
    against: Mapping[str, Difference]
    claims: Claims


def measure_quality(scores: Mapping[str, Scores], claims: Claims) -> Quality:
    """Return what the scores of each system, of all MEASURES, show of the native fusion."""
    contrasts = [Contrast(name, "", scores[OURS][name], scores[NATIVE][name]) for name in MEASURES]
    return Quality(
        means={
            system: estimate_means({name: found[name] for name in MEASURES}, claims)
            for system, found in scores.items()
        },
        differences=tuple(judge_family(contrasts, claims=claims)),
        against=compare_bases(scores, claims),
        claims=claims,
    )


def compare_bases(scores: Mapping[str, Scores], claims: Claims) -> dict[str, Difference]:
    """Return by each of BASES how far the native fusion is above.

    The better list is the one of the higher mean on the very queries, which favours it.
    """
    means = {name: sum(scores[name][MEASURE].values()) for name in (DENSE, KEYWORD)}
    better = max(means, key=lambda name: means[name])
    contrasts = [
        Contrast(MEASURE, "", scores[base][MEASURE], scores[NATIVE][MEASURE])
        for base in (HYBRID, OURS, better)
    ]
    return dict(zip(BASES, judge_family(contrasts, claims=claims), strict=True))


def score_systems(
    collection: Collection, queries: Sequence[Query], rankings: Mapping[str, Rankings]
) -> dict[str, Scores]:
    """Return the scores of each system in all MEASURES.

    A query that a system lacks has no results there.
    """
    return {
        system: score_rankings(collection, queries, found, MEASURES)
        for system, found in rankings.items()
    }


def score_rankings(
    collection: Collection, queries: Sequence[Query], found: Rankings, names: Sequence[str]
) -> Scores:
    """Return {measure: {query id: score}}, as a stored run of these rankings would have them."""
    joined = {
        query.id: join(
            [
                RetrievedChunk(chunk, chunk.id in collection.prescribed)
                for chunk in found.get(query.id, ())
                if not (collection.drop_self_matches and matches_itself(query.id, chunk))
            ],
            collection.gold[query.id],
        )
        for query in queries
    }
    return measures.score(names, joined, {query.id: collection.gold[query.id] for query in queries})
