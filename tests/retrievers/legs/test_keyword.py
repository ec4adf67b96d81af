import argparse
import math
import re
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tools.processes import ROOT
from tools.recording_progress import RecordingProgress

from assay.eval.configs.config import load_config
from assay.retrievers.base import Chunk, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.bm25 import Formula, RankBm25Scorer, TableScorer, weigh
from assay.retrievers.legs.keyword import FieldWeights, KeywordLegSettings
from assay.retrievers.legs.registry import LEGS
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache
from assay.retrievers.text.term_counts import ARRAYS, count_terms, load_counts, write_counts

TERMS = st.lists(st.sampled_from("abcdefgh"), max_size=12)
PASSAGES = st.lists(TERMS, min_size=1, max_size=12).filter(any)
QUERY = st.lists(st.sampled_from("abcdefghxyz"), max_size=6)
CONSTANTS = st.tuples(
    st.floats(0.01, 3),
    st.floats(0, 1),
    st.floats(0, 1),
)


TOLD = "rank-bm25 has no variant lucene; set `variant: okapi` beside it"


def make_chunks(texts):
    names = [f"{len(texts) - number:06d}" for number in range(len(texts))]
    return [
        Chunk(id=name, doc_id=name, start=0, end=len(text), text=text)
        for name, text in zip(names, texts, strict=True)
    ]


def make_leg(folder, texts, **settings):
    leg = KeywordLegSettings.model_validate(settings).build(Resources(Cache(folder)))
    leg.index(Corpus(make_chunks(texts)))
    return leg


@given(PASSAGES)
def test_terms_are_counted_and_read_back(passages):
    counts = count_terms(passages)
    assert [Counter(found) for found in counts.list_terms()] == list(map(Counter, passages))
    assert counts.lengths.tolist() == list(map(len, passages))
    held = {term: sum(term in passage for passage in passages) for term in counts.vocabulary}
    assert dict(zip(counts.vocabulary, counts.frequencies.tolist(), strict=True)) == held
    with tempfile.TemporaryDirectory() as name:
        counts.save(Path(name))
        assert load_counts(Path(name)).list_terms() == counts.list_terms()


@given(st.lists(TERMS, max_size=12), st.integers(1, 13), st.integers(1, 30))
def test_counts_of_parts_are_those_of_the_whole(passages, part, entries):
    whole = count_terms(passages)
    with tempfile.TemporaryDirectory() as name:
        write_counts(iter(passages), Path(name), part, entries)
        merged = load_counts(Path(name))
        assert not [path for path in Path(name).iterdir() if path.is_dir()]
    assert list(merged.vocabulary.items()) == list(whole.vocabulary.items())
    for array in ARRAYS:
        one, other = getattr(whole, array), getattr(merged, array)
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()


@given(PASSAGES, CONSTANTS, st.sampled_from(["okapi", "lucene"]), st.integers(1, 30))
def test_weights_of_slices_are_those_of_the_whole_to_the_bit(passages, constants, variant, entries):
    counts, formula = count_terms(passages), Formula(variant, *constants)
    slices = list(weigh(counts, formula, entries))
    held = counts.frequencies.max()
    assert all(len(weights) <= max(entries, held) for weights in slices)
    [whole] = weigh(counts, formula)
    assert np.concatenate(slices).tobytes() == whole.tobytes()


def real_texts():
    """Real prose and code that every Python has: the paragraphs of argparse's source."""
    source = Path(argparse.__file__).read_text()
    return [paragraph for paragraph in re.split(r"\n\s*\n", source) if paragraph.strip()]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@given(PASSAGES, QUERY, CONSTANTS)
def test_the_table_scores_as_rank_bm25_does(passages, query, constants):
    formula = Formula("okapi", *constants)
    scores = []
    for scorer in (RankBm25Scorer(formula), TableScorer(formula)):
        with tempfile.TemporaryDirectory() as name:
            counts = count_terms(passages)
            scorer.build(counts, Path(name))
            scorer.load(counts, Path(name))
            scores.append(scorer.score(query))
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-9, atol=1e-12)


@given(PASSAGES, QUERY)
def test_both_libraries_rank_alike(passages, query):
    texts = [" ".join(passage) for passage in passages]
    with tempfile.TemporaryDirectory() as name:
        results = [
            make_leg(Path(name), texts, scorer=scorer, variant="okapi", analyzer="plain")
            .search(" ".join(query), 5)
            .candidates
            for scorer in ("rank-bm25", "bm25s")
        ]
    assert results[0] == results[1]


def test_both_libraries_rank_real_text_alike(folder):
    texts = real_texts()
    assert len(texts) > 300
    legs = [
        make_leg(folder, texts, scorer=scorer, variant="okapi", epsilon=0.1)
        for scorer in ("rank-bm25", "bm25s")
    ]
    for query in texts[::5]:
        assert legs[0].search(query, 50).candidates == legs[1].search(query, 50).candidates


def by_hand(variant, texts, query, k1, b):
    """The formulas of assay.retrievers.legs.bm25, once more; no term here has a negative idf."""
    passages = [text.split() for text in texts]
    mean = sum(map(len, passages)) / len(passages)
    scores = []
    for passage in passages:
        counts, score = Counter(passage), 0.0
        for term in query.split():
            df = sum(term in other for other in passages)
            ratio = (len(passages) - df + 0.5) / (df + 0.5)
            idf = math.log(1 + ratio) if variant == "lucene" else math.log(ratio)
            tf = counts[term] * (1 if variant == "lucene" else k1 + 1)
            score += idf * tf / (counts[term] + k1 * (1 - b + b * len(passage) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize("variant", ["okapi", "lucene"])
def test_formula(folder, variant):
    texts = ["a b c", "a a d e f", "g h", "b g i j", "k", "l m"]
    leg = make_leg(folder, texts, variant=variant, k1=0.9, b=0.4, analyzer="plain")
    expected = by_hand(variant, texts, "a a b zz", 0.9, 0.4)
    found = dict(leg.search("a a b zz", 10).candidates)
    assert set(found) == {0, 1, 3}
    for position, score in found.items():
        assert score == pytest.approx(expected[position])


def test_epsilon_scores_terms_of_most_passages(folder):
    texts = ["a b", "a c", "a d", "e f"]
    low, high = (
        make_leg(folder, texts, variant="okapi", epsilon=value, analyzer="plain")
        for value in (0.1, 0.5)
    )
    ratio = high.search("a", 4).candidates[0][1] / low.search("a", 4).candidates[0][1]
    assert ratio == pytest.approx(5)


@pytest.mark.parametrize("scorer", ["bm25s", "rank-bm25"])
def test_nothing_found(folder, scorer):
    empty = make_leg(folder, [], scorer=scorer, variant="okapi")
    wordless = make_leg(folder, ["...", "the of"], scorer=scorer, variant="okapi")
    leg = make_leg(
        folder, ["", "cats and dogs", "--", "birds", "fish"], scorer=scorer, variant="okapi"
    )
    for nothing in (empty, wordless):
        assert nothing.search("cats", 10).candidates == []
    for query in ("", "  ", "the of", "zebra"):
        assert leg.search(query, 10).candidates == []
    assert [position for position, _ in leg.search("zebra cats", 10).candidates] == [1]


def test_ties_go_by_position_and_depth_may_exceed_the_chunks(folder):
    leg = make_leg(folder, ["cat", "dog", "cat", "bird", "cat", "fish", "fox"])
    assert [position for position, _ in leg.search("cat", 2).candidates] == [0, 2]
    result = leg.search("cat", 1000)
    assert [position for position, _ in result.candidates] == [0, 2, 4]
    assert list(result.milliseconds) == ["analyse", "search"]


TEXTS = {
    "a.md": "---\nkeywords: [tariff]\ntags: [sea]\n---\nOne cat, see [[b]] and `run`.",
    "b.md": "Two dogs stop.",
}
# Settings one after the other, each with whether their index is there already.
CACHED = {
    "bm25": [
        ({"depth": 7}, True), ({"k1": 1.0}, False), ({"analyzer": "plain"}, False),
        ({"variant": "okapi"}, False), ({"weights": {}}, False),
        ({"weights": {}, "depth": 7}, True), ({"weights": {}, "k1": 1.0}, False),
        ({"weights": {"tags": 9.0}}, False),
    ],
    "code": [({"depth": 3}, True), ({"languages": ["python"]}, False)],
    "graph": [({"weights": {"wikilink": 0.5}}, True)],
}  # fmt: skip


@pytest.mark.parametrize("type_", CACHED)
def test_the_index_is_cached_by_what_it_depends_on(type_, folder):
    resources = Resources(Cache(folder))

    def index(settings, texts=TEXTS):
        chunks = [
            Chunk(f"{9 - i}", id_, 0, len(text), text)
            for i, (id_, text) in enumerate(texts.items())
        ]
        leg = LEGS.types[type_].model_validate({"type": type_, **settings}).build(resources)
        report = leg.index(Corpus(chunks, [Document(*item) for item in texts.items()]))
        assert report.chunks == 2
        assert all(seconds > 0 for seconds in report.seconds.values())
        found = leg.follow("cat tariff run", 5, {"dense": [(0, 1.0)]}).candidates
        return bool(report.cached), list(found)

    fresh = index({})
    assert fresh[0] is False
    for settings, cached in CACHED[type_]:
        assert index(settings)[0] == cached, settings
    assert index({}) == (True, fresh[1])
    for old, new in (("tariff", "toll"), ("[[b]]", "nothing"), ("`run`", "`halt`")):
        assert not index({}, TEXTS | {"a.md": TEXTS["a.md"].replace(old, new)})[0]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"scorer": "rank-bm25"}, TOLD),
        ({"scorer": "rank-bm25", "variant": "lucene"}, TOLD),
        ({"weights": {"titel": 1.0}}, "titel"),
        ({"weights": {"title": -1.0}}, "greater than or equal to 0"),
        ({"weights": dict.fromkeys(FieldWeights.model_fields, 0.0)}, "weights"),
        ({"weights": {}, "scorer": "rank-bm25", "variant": "okapi"}, "rank-bm25"),
    ],
)
def test_refuses(wrong, problem):
    with pytest.raises(ValidationError, match=problem):
        KeywordLegSettings.model_validate(wrong)


def test_every_leg_has_one_bm25_and_a_design_its_own():
    found = {
        f"{name} {key}": leg
        for name in ("bm25", "hybrid", "hybrid_rrf", "combine_split", "markdown_ragdocs")
        for key, leg in load_config(ROOT / "configs" / f"{name}.yaml").retriever.legs.items()
        if key in ("keyword", "code")
    }
    found |= {type_: LEGS.types[type_](type=type_) for type_ in ("bm25", "code")}
    found["fields"] = KeywordLegSettings(weights={})
    constants = {(leg.k1, leg.b, getattr(leg, "variant", "lucene")) for leg in found.values()}
    assert constants == {(1.2, 0.6, "lucene")}
    stated = load_config(ROOT / "configs" / "hierarchical_document.yaml").retriever.legs["keyword"]
    assert (stated.k1, stated.b, stated.variant) == (1.5, 0.75, "okapi")


@pytest.mark.parametrize(
    ("variant", "texts", "said"),
    [
        ("okapi", ["red boat", "blue sail"], True),
        ("lucene", ["red boat", "blue sail"], False),
        ("okapi", ["red boat", "blue sail", "old quay", "new pier", "far isle"], False),
    ],
)
def test_words_without_weight_in_a_tiny_collection_are_told(tmp_path, variant, texts, said):
    listener = RecordingProgress()
    leg = KeywordLegSettings(variant=variant).build(Resources(Cache(tmp_path), listener))
    leg.index(Corpus(make_chunks(texts)))
    assert bool(leg.search("boat", 5).candidates) != said
    warning = (
        "warning: okapi gives 4 of 4 words no weight among 2 chunks: what holds only such words of "
        "a query is not found; variant: lucene finds it"
    )
    assert listener.lines == ([warning] if said else [])


def test_a_query_asked_deeper_is_found_as_if_it_were_asked_anew(tmp_path, monkeypatch):
    leg = make_leg(tmp_path, ["the lamp", "lamp lamp", "another lamp and a chair", "a chair"])
    expected = {query: list(leg.search(query, 4).candidates) for query in ("lamp", "chair")}
    leg.search("lamp", 1)
    assert list(leg.deepen("chair", 4, {}).candidates) == expected["chair"]
    leg.search("lamp", 1)
    monkeypatch.setattr(TableScorer, "score", lambda *_: pytest.fail("scored again"))
    assert list(leg.deepen("lamp", 4, {}).candidates) == expected["lamp"]
