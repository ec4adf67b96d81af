"""Every rule of engines, on the OpenSearch that $OPENSEARCH_URL names."""

import os
from contextlib import closing

import pytest

from assay.eval.studies.stores.parity.running import judge
from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance import RULES
from assay.retrievers.engines.conformance.sample import QUERIES, TEXTS, encode, index
from assay.retrievers.engines.parity.parity import Observation
from assay.retrievers.engines.stores.opensearch import OpenSearchSettings, OpenSearchStore
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif("OPENSEARCH_URL" not in os.environ, reason="$OPENSEARCH_URL is not set"),
]

WEIGHTS = {"dense": 0.7, "keyword": 0.3}
HNSW = {"method": "hnsw"}


def normalise(**settings):
    return {"fusion": {"type": "normalisation", **settings}}


ENGINES = {
    "rrf": {},
    "rrf weighted": {"fusion": {"type": "rrf", "rank_constant": 10, "weights": WEIGHTS}},
    "min_max": normalise(),
    "min_max geometric": normalise(combination="geometric_mean", weights=WEIGHTS),
    "l2 harmonic": normalise(normalisation="l2", combination="harmonic_mean"),
    "z_score": normalise(normalisation="z_score"),
    "l2": normalise(normalisation="l2"),
    "shallow": {"depth": {"dense": 20, "keyword": 20}},
    "hnsw": {"knn": HNSW},
    "hnsw of faiss": {"knn": {**HNSW, "engine": "faiss", "ef_search": 50}},
}


@pytest.fixture(scope="module", autouse=True)
def clean():
    """Remove from the server what the tests made there."""
    with OpenSearchSettings().server() as server:
        before = {stored.name for stored in server.list_stored()}
        yield
        for stored in server.list_stored():
            if stored.name not in before:
                server.drop(stored.name)


@pytest.fixture(params=ENGINES)
def settings(request):
    """The settings of each engine that the server can be."""
    chosen = OpenSearchSettings.model_validate(ENGINES[request.param])
    try:
        with closing(OpenSearchStore(chosen)) as store:
            lacks = (feature.find_lack(store.version) for feature in chosen.features)
            lack = next(filter(None, lacks), "")
    except AssayError as error:
        lack = str(error)
    if "needs" in lack:
        pytest.skip(lack)
    return chosen


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_opensearch_keeps_the_rules(settings, rule):
    rule.check(lambda: settings.build(Resources(Cache(default_root()))))


def test_opensearch_fuses_as_it_states(settings):
    with closing(settings.build(Resources(Cache(default_root())))) as engine:
        vectors = index(engine)
        if not engine.metadata()["exact"]:
            pytest.skip("what approximate search finds inside need not be what it finds apart")
        asked = (*QUERIES, *TEXTS[:40])
        seen = {text: Observation(engine, text, encode(text), len(vectors)) for text in asked}
        verdicts = judge(seen)
    assert set(verdicts.values()) <= {"identical", "ties"}
