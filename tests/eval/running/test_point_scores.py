"""Runs scored by the patterns of their finds: the scores of runs scored alone, to the bit."""

import random
from dataclasses import replace

import pytest
from samples.report import make_run

from assay.eval.running.point_scores import PointScores
from assay.eval.runs import generated_answers
from assay.eval.scoring import measures

BOUNDED = [
    *measures.DEFAULT, "hit_nDCG@3", "AP@7", "ERR@5", "Recall@30tok", "P(rel=2)@5",
    "nDCG(dcg='exp-log2')@10", "CharIoU@3", "CharRecall@2", "Unwanted@3",
]  # fmt: skip


def shuffle(run, seed):
    """Return a run with the hits in another order, and fewer of them."""
    draw = random.Random(seed)
    rankings = {}
    for query, ranking in run.rankings.items():
        hits = draw.sample(ranking.hits, draw.randint(0, len(ranking.hits)))
        rankings[query] = replace(ranking, hits=tuple(hits))
    return replace(run, rankings=rankings)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    made = make_run(tmp_path_factory.mktemp("runs"))
    some = frozenset(chunk.doc_id for chunk in made.lists.chunks[::2])
    facts = made.manifest.collection.model_copy(update={"unwanted": len(some)})
    manifest = made.manifest.model_copy(update={"collection": facts})
    return replace(made, manifest=manifest, unwanted=some)


@pytest.mark.parametrize("names", [BOUNDED, ["nDCG@3"], ["Tokens@2"], ["AP", "nDCG@10", "Empty"]])
def test_scores_are_those_of_a_run_alone(run, names):
    points = PointScores(names)
    for seed in range(30):
        other = shuffle(run, seed)
        expected = generated_answers.score(other, names)
        found = points.score(other, names)
        assert list(found) == list(expected)
        assert found == expected
        assert [list(of) for of in found.values()] == [list(of) for of in expected.values()]
