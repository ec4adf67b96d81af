"""Pipelines that share their work answer as pipelines that do all of it themselves."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tools.processes import ROOT, pipelines

from assay.eval.configs.config import load_config
from assay.retrievers.conformance import RULES, Subject
from assay.retrievers.conformance_sample import DOCUMENTS, QUERIES
from assay.retrievers.legs.dense import DenseLeg
from assay.retrievers.legs.keyword import KeywordLeg
from assay.retrievers.pipeline import variants as module
from assay.retrievers.pipeline.variants import Variants
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

BM25 = ROOT / "configs" / "bm25.yaml"
HYBRID = ROOT / "configs" / "hybrid_rrf.yaml"
KEYWORD = "retriever.legs.keyword"


@pytest.fixture
def variants():
    with Variants(Resources(Cache(default_root()))) as opened:
        yield opened


@pytest.fixture
def searches(monkeypatch):
    """Record every real search: the leg's class, the query, the depth."""
    made = []
    for kind in (DenseLeg, KeywordLeg):
        real = kind.search

        def search(self, query, depth, real=real):
            made.append((type(self).__name__, query, depth))
            return real(self, query, depth)

        monkeypatch.setattr(kind, "search", search)
    return made


def open_variant(variants, path, *overrides):
    retriever = variants.build(load_config(path, overrides))
    retriever.index(DOCUMENTS)
    return retriever


def answer(ranking):
    """Return all of a ranking but its times."""
    trace = [(entry.name, entry.kind, entry.candidates, entry.note) for entry in ranking.trace]
    others = sorted(chunk.id for chunk in ranking.others)
    return ranking.hits, trace, others, ranking.degraded


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("name", ["hybrid_rrf", "native_hybrid"])
def test_variants_keep_the_rules(rule, name, variants):
    config = load_config(ROOT / "configs" / f"{name}.yaml")
    rule.check(Subject(lambda: variants.build(config)))


def tell(hit):
    return hit.chunk, hit.score


def check_equal(variants, config):
    shared = variants.build(config)
    with config.build(Resources(Cache(default_root()))) as alone:
        one, other = shared.index(DOCUMENTS), alone.index(DOCUMENTS)
        assert (one.chunks, one.bytes, one.facts) == (other.chunks, other.bytes, other.facts)
        assert one.seconds.keys() == other.seconds.keys()
        assert shared.metadata() == alone.metadata()
        for query in QUERIES:
            assert answer(shared.search(query, 10)) == answer(alone.search(query, 10))
            plain, whole = shared.search_plain(query, 10), alone.search(query, 10)
            assert list(map(tell, plain.hits)) == list(map(tell, whole.hits))
            assert plain.degraded == whole.degraded
            assert [i.counts for i in plain.trace if i.kind == "leg"] == [
                i.counts for i in whole.trace if i.kind == "leg"
            ]
            probed, expected = (one.probe(query, 5000) for one in (shared, alone))
            assert {name: [*ids] for name, ids in probed.items()} == {
                name: [*ids] for name, ids in expected.items()
            }


@pytest.mark.parametrize("path", pipelines(), ids=lambda path: path.stem)
def test_a_variant_answers_as_a_fresh_pipeline(path, variants):
    for _ in range(2):  # the second finds everything remembered
        check_equal(variants, load_config(path))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(0, 100), st.booleans()),
        min_size=1,
        max_size=4,
    )
)
def test_any_order_of_settings_gives_the_answers_of_fresh_pipelines(drawn):
    with Variants(Resources(Cache(default_root()))) as variants:
        for first, second, k, headings in drawn:
            overrides = (
                f"retriever.legs={{a: {{type: bm25, depth: {first}}}, "
                f"b: {{type: bm25, b: 0.1, depth: {second}}}}}",
                f"retriever.fusion={{type: rrf, k: {k}}}",
                f"documents.headings={str(headings).lower()}",
            )
            check_equal(variants, load_config(BM25, overrides))


def test_the_native_hybrid_answers_to_each_depth_by_itself(variants):
    for depth in (7, 2, 4):
        overrides = (f"retriever.legs.native.depth={depth}",)
        check_equal(variants, load_config(ROOT / "configs" / "native_hybrid.yaml", overrides))


def test_a_leg_searches_once_for_all_depths_and_fusions(variants, searches):
    for depth, k in ((8, 60), (8, 10), (3, 10), (5, 1)):
        overrides = (f"{KEYWORD}.depth={depth}", f"retriever.fusion.k={k}")
        open_variant(variants, HYBRID, *overrides).search(QUERIES[0], 5)
    kinds = [kind for kind, *_ in searches]
    assert sorted(kinds) == ["DenseLeg", "KeywordLeg"]
    open_variant(variants, HYBRID, f"{KEYWORD}.depth=9").search(QUERIES[0], 5)
    assert searches[2:] == [("KeywordLeg", QUERIES[0], 9)]


def test_other_settings_documents_and_cuts_are_indexed_apart(variants, searches):
    for overrides in ((), (f"{KEYWORD}.k1=0.5",), ("documents.headings=true",)):
        open_variant(variants, BM25, *overrides).search(QUERIES[0], 5)
    retriever = variants.build(load_config(BM25))
    retriever.index(DOCUMENTS[1:])
    found = retriever.search(QUERIES[0], 5)
    assert len(searches) == 4
    assert DOCUMENTS[0].id not in {hit.chunk.doc_id for hit in found.hits}


def test_timed_searches_each_time(variants, searches):
    retriever = open_variant(variants, HYBRID)
    retriever.search(QUERIES[0], 5)
    timed = retriever.without_query_cache()
    for _ in range(2):
        timed.search(QUERIES[0], 5)
    assert len(searches) == 6
    retriever.search(QUERIES[0], 5)
    assert len(searches) == 6


def test_what_probes_ask_for_is_not_kept(variants, searches, monkeypatch):
    monkeypatch.setattr(module, "MOST_REMEMBERED", 10)
    retriever = open_variant(variants, BM25, f"{KEYWORD}.depth=3")
    for _ in range(2):
        retriever.probe(QUERIES[0], 11)
    retriever.search(QUERIES[0], 5)
    assert [depth for *_, depth in searches] == [11, 11, 3]


def test_indexes_are_made_once(variants):
    first = variants.build(load_config(HYBRID)).index(DOCUMENTS)
    second = variants.build(load_config(HYBRID, ["retriever.fusion.k=1"])).index(DOCUMENTS)
    assert second.seconds == first.seconds
    assert set(second.cached) == set(second.seconds)


def test_a_leg_that_cannot_be_built_is_left_out_as_ever(variants, monkeypatch):
    def fail(self, corpus):
        raise OSError("the disk is full")

    monkeypatch.setattr(KeywordLeg, "index", fail)
    check_equal(variants, load_config(HYBRID))
    ranking = open_variant(variants, HYBRID).without_query_cache().search(QUERIES[0], 5)
    assert ranking.hits
    assert "the disk is full" in ranking.degraded[0]
