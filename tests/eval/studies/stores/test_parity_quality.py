"""What an engine's own fusion is worth beside ours, and beside each of the two lists."""

import pytest
from samples.claims import make_claims
from tools.processes import ROOT

from assay.eval.configs.config import load_config
from assay.eval.studies.stores.parity.quality import (
    BETTER,
    DENSE,
    HYBRID,
    KEYWORD,
    NATIVE,
    OURS,
    compare_bases,
)
from assay.eval.studies.stores.parity.running import HYBRID_FUSION
from assay.retrievers.pipeline.pipeline import PipelineSettings


def test_hybrid_is_that_of_the_config():
    retriever = load_config(ROOT / "configs/hybrid.yaml").retriever
    assert isinstance(retriever, PipelineSettings)
    assert retriever.fusion == HYBRID_FUSION


def test_a_fusion_is_held_against_the_better_list():
    queries = [str(number) for number in range(20)]

    def score(value: float) -> dict[str, dict[str, float]]:
        return {"nDCG@10": {query: value + int(query) / 100 for query in queries}}

    values = {DENSE: 0.3, KEYWORD: 0.4, NATIVE: 0.45, OURS: 0.5, HYBRID: 0.6}
    scores = {system: score(value) for system, value in values.items()}
    worse = compare_bases(scores, make_claims(queries))
    found = {base: item.difference.value for base, item in worse.items()}
    assert found == pytest.approx({HYBRID: -0.15, OURS: -0.05, BETTER: 0.05})
    assert worse[HYBRID].verdict == "worse"
    assert worse[BETTER].verdict == "better"
    better = compare_bases(scores | {NATIVE: score(0.7), DENSE: score(0.5)}, make_claims(queries))
    assert better[BETTER].difference.value == pytest.approx(0.2)
