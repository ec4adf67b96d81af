"""The fusions that engines state, against cases worked by hand."""

import pytest

from assay.retrievers.engines.formulas import ReciprocalRanks, sum_deviations, sum_scaled
from assay.retrievers.engines.stores.azure_cosmos_nosql import UnitedRanks
from assay.retrievers.engines.stores.elasticsearch import sum_linear
from assay.retrievers.engines.stores.mongodb import average_scores
from assay.retrievers.engines.stores.opensearch_fusion import NormalisedScores
from assay.retrievers.engines.stores.redis import sum_weighted
from assay.retrievers.engines.stores.weaviate import WeaviateSettings

DENSE = [(3, 0.9), (1, 0.8), (2, 0.5)]
LATE, WIDE = [(4, 0.9)], [(4, 3.0), (5, 3.0), (6, 1.0)]
EQUAL = [(5, 2.0), (6, 2.0)]


def weaviate(**settings):
    return WeaviateSettings.model_validate(settings).make_formula()


def means(mean):
    return NormalisedScores("min_max", mean, (0.75, 0.25))


KEYWORD = [(1, 7.0), (4, 3.0)]
BY_RANK = {1: 1 / 62 + 1 / 61, 3: 1 / 61, 4: 1 / 62, 2: 1 / 63}
HALF = 2 / (6 * 8**0.5)


@pytest.mark.parametrize(
    ("formula", "dense", "keyword", "expected"),
    [
        (ReciprocalRanks(k=60), DENSE, KEYWORD, BY_RANK),
        (ReciprocalRanks(k=61, first=0), DENSE, KEYWORD, BY_RANK),
        (
            ReciprocalRanks(k=1, weights=(0.25, 2.0)),
            DENSE, KEYWORD, {3: 0.25 / 2, 1: 0.25 / 3 + 2 / 2, 2: 0.25 / 4, 4: 2 / 3},
        ),
        # The second of the dense list: 1 / (2 / 2 + 1 + 0 - 1); the other list adds nothing.
        (
            ReciprocalRanks(k=1, first=0, weights=(2.0, 0.0), weigh="ranks"),
            DENSE, KEYWORD, {3: 2.0, 1: 1.0, 2: 2 / 3},
        ),
        # MongoDB: equal scores share a rank.
        (
            ReciprocalRanks(k=60, weights=(1.0, 2.0), shared=True),
            LATE, WIDE, {4: 3 / 61, 5: 2 / 61, 6: 2 / 63},
        ),
        (sum_scaled((0.7, 0.3)), DENSE, KEYWORD, {3: 0.7, 1: 0.7 * 0.75 + 0.3, 2: 0.0, 4: 0.0}),
        (sum_scaled(), [], EQUAL, {5: 0.5, 6: 0.5}),
        # Mean 5, sample deviation 2 sqrt 2: 3 deviations below and above are 0 and 1.
        (
            sum_deviations(),
            [(0, 7.0), (1, 3.0)], [(1, 4.0)], {0: 0.5 + HALF, 1: 0.5 - HALF + 0.5},
        ),
        # usecases/traverser/hybrid/hybrid_fusion.go: weight / (i + 60), i from 0.
        (
            weaviate(alpha=0.75),
            DENSE, KEYWORD, {3: 0.75 / 60, 1: 0.75 / 61 + 0.25 / 60, 2: 0.75 / 62, 4: 0.25 / 61},
        ),
        # Each list's lowest becomes 0, its highest the list's weight.
        (
            weaviate(fusion="relative_score", alpha=0.75),
            DENSE, KEYWORD, {3: 0.75, 1: 0.75 * 0.75 + 0.25, 2: 0.0, 4: 0.0},
        ),
        # A list without weight is not searched.
        (weaviate(alpha=0.0), DENSE, KEYWORD, {1: 1 / 60, 4: 1 / 61}),
        (weaviate(alpha=1.0), DENSE, KEYWORD, {3: 1 / 60, 1: 1 / 61, 2: 1 / 62}),
        (weaviate(fusion="relative_score", alpha=0.0), DENSE, KEYWORD, {1: 1.0, 4: 0.0}),
        (weaviate(fusion="relative_score", alpha=1.0), DENSE, KEYWORD, {3: 1.0, 1: 0.75, 2: 0.0}),
        (sum_weighted((2.0, 0.5)), [(1, 0.5), (2, 0.0)], [(2, 3.0)], {1: 1.5, 2: 2.5}),
        (
            sum_linear((2.0, 0.5)),
            [(3, 0.8), (1, 0.4), (2, 0.0)], [(1, 7.0)], {3: 2.0, 1: 1.0 + 3.5, 2: 0.0},
        ),
        (sum_linear((1.0, 1.0)), [], [], {}),
        (
            UnitedRanks(60, (1.0, 2.0)),
            [(1, 0.9), (2, 0.5), (3, 0.5)], [(2, 4.0), (4, 4.0)],
            {1: 1 / 61 + 2 / 62, 2: 1 / 62 + 2 / 61, 3: 3 / 62, 4: 1 / 63 + 2 / 61},
        ),
        (
            average_scores("minMaxScaler", (2.0, 1.0)),
            [(4, 0.5), (7, 0.1)], WIDE, {4: 1.5, 5: 0.5, 6: 0.0, 7: 0.0},
        ),
        (average_scores("none", (1.0, 0.0)), [(4, 0.5)], WIDE, {4: 0.375}),
        # min_max makes of the dense list 1 and 0.001, of the keyword list 1 alone.
        (
            means("arithmetic_mean"),
            [(0, 0.8), (1, 0.2)], [(1, 7.0)], {0: 0.75, 1: 0.75 * 0.001 + 0.25},
        ),
        (means("geometric_mean"), [(0, 0.8), (1, 0.2)], [(1, 7.0)], {0: 1.0, 1: 0.001**0.75}),
        (
            means("harmonic_mean"),
            [(0, 0.8), (1, 0.2)], [(1, 7.0)], {0: 1.0, 1: 1 / (0.75 / 0.001 + 0.25)},
        ),
        (NormalisedScores("l2", "harmonic_mean", (0.5, 0.5)), [], [], {}),
        # Mean 4, sample deviation 2; what equals the mean becomes the highest score as it is.
        (
            NormalisedScores("z_score", "arithmetic_mean", (0.5, 0.5)),
            [], [(0, 6.0), (1, 4.0), (2, 2.0)], {0: 0.5, 1: 3.0, 2: 0.0005},
        ),
        # (1 + 0.6) / 2, halved.
        (NormalisedScores("z_score", "arithmetic_mean", (0.5, 0.5)), [(5, 0.6)], [], {5: 0.4}),
    ],
)  # fmt: skip
def test_fusions_by_hand(formula, dense, keyword, expected):
    fused = formula.fuse(dense, keyword)
    assert dict(fused) == pytest.approx(expected)
    assert fused == sorted(fused, key=lambda pair: (-pair[1], pair[0]))


def test_statements_tell_the_numbers():
    assert "60" in ReciprocalRanks(k=60).statement
    assert "0.3" in sum_scaled((0.7, 0.3)).statement
    assert "rank / weight + 60" in ReciprocalRanks(61, 0, (2.0, 1.0), "ranks").statement
