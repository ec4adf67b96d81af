from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from samples.real_texts import real_texts
from tools.extras import skip_without

from assay.retrievers.base import Chunk, Document
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.engines.tantivy.engine import (
    LENGTHS,
    Bm25,
    TantivyEngine,
    TantivySettings,
    _make_analyzer,
    make_analyze,
)
from assay.retrievers.engines.tantivy.settings import (
    WITHOUT_STOP_WORDS,
    Language,
    TantivyTextSettings,
)
from assay.retrievers.legs.keyword import KeywordLegSettings
from assay.retrievers.legs.native import EngineKeywordSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache
from assay.retrievers.text.analyzers import LanguageAnalyzerSettings

skip_without("tantivy", "tantivy")

TEXTS = real_texts()
QUERIES = ["add an argument to the parser", "print usage usage", "Namespace", "the the the"]


def index(folder: Path, texts: list[str], **text: Any) -> tuple[TantivyEngine, tuple[str, ...]]:
    chosen = TantivySettings.model_validate({"type": "tantivy", "text": text})
    engine = chosen.build(Resources(Cache(folder)))
    report = engine.index(texts, np.empty((len(texts), 0), np.float32), "")
    return engine, report.cached


@pytest.mark.parametrize("text", [{}, {"analyzer": "english"}, {"tokenizer": "whitespace"}])
def test_scores_are_those_of_the_formula(tmp_path: Path, text: dict[str, Any]) -> None:
    engine, _ = index(tmp_path, TEXTS, **text)
    for query in QUERIES:
        found, expected = engine.keyword(query, 1000), engine.score_terms(query)
        assert len(found) == len(expected)
        assert dict(found) == pytest.approx(dict(expected), rel=1e-4)


def test_lengths_are_rounded_as_lucene_does() -> None:
    assert LENGTHS[:42] == [*range(41), 42]
    assert LENGTHS[41:52] == [42, 44, 46, 48, 50, 52, 54, 56, 60, 64, 68]
    assert sorted(set(LENGTHS)) == LENGTHS


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=60), min_size=1, max_size=8))
def test_whatever_shares_a_term_has_a_score_above_0(texts: list[list[str]]) -> None:
    found = Bm25(texts).score(["a", "b", "a"])
    assert {i for i, _ in found} == {i for i, text in enumerate(texts) if {"a", "b"} & {*text}}
    assert all(score > 0 for _, score in found)


def test_equal_scores_are_ordered_by_position_also_at_the_cut(tmp_path: Path) -> None:
    engine, _ = index(tmp_path, [f"ferry {i}" for i in range(5000)])
    assert [i for i, _ in engine.keyword("ferry", 20)] == list(range(20))


def test_what_analyses_builds_anew(tmp_path: Path) -> None:
    texts = ["the ferry runs on pier 17", "Fähre 日本語", f"an anchor {'x' * 41}"]

    def found(query: str, **text: Any) -> tuple[set[int], tuple[str, ...]]:
        engine, cached = index(tmp_path, texts, **text)
        return {i for i, _ in engine.keyword(query, 9)}, cached

    assert found("running 日本語") == ({0, 1}, ())
    assert found("the on an") == ({0, 2}, ("engine",))
    assert found("the on an", stop_words=True) == (set(), ())
    assert found("running", language=None) == (set(), ())
    assert found("fahre", ascii_folding=True) == ({1}, ())
    assert found("x" * 41) == (set(), ("engine",))
    assert found("x" * 41, max_token_length=41) == ({2}, ())
    assert found("running", analyzer="english") == ({0}, ())


def test_our_analyzer_gives_the_list_of_our_bm25(tmp_path: Path) -> None:
    """Lucene's formula in both; lengths are rounded in one, so that scores differ a little."""
    documents = [Document(str(i), text) for i, text in enumerate(TEXTS)]
    chunks = [Chunk(item.id, item.id, 0, len(item.text), item.text) for item in documents]
    corpus = Corpus(tuple(chunks), tuple(documents))
    resources = Resources(Cache(tmp_path))
    ours = KeywordLegSettings(variant="lucene", k1=1.2, b=0.75).build(resources)
    theirs = EngineKeywordSettings.model_validate(
        {
            "type": "engine_keyword",
            "engine": {"type": "tantivy", "text": {"analyzer": "english"}},
            "encoder": "bge-small-en-v1.5",
        }
    ).build(resources)
    for leg in (ours, theirs):
        leg.index(corpus)
    for query in QUERIES[:3]:
        expected = dict(ours.search(query, 1000).candidates)
        found = dict(theirs.search(query, 1000).candidates)
        assert found.keys() == expected.keys()
        ratios = [found[i] / expected[i] for i in found]
        assert max(ratios) / min(ratios) < 1.15
    assert "encoder" not in theirs.metadata()
    theirs.close()


def test_every_language_is_known() -> None:
    for language in get_args(Language):
        words = language not in WITHOUT_STOP_WORDS
        _make_analyzer(TantivyTextSettings(language=language, stop_words=words)).analyze("word")
        if not words:
            with pytest.raises(ValidationError, match=f"needs a list for {language}"):
                TantivyTextSettings(language=language, stop_words=True)
            wrong = TantivyTextSettings.model_construct(
                **{**TantivyTextSettings(language=language).model_dump(), "stop_words": True}
            )
            with pytest.raises(ValueError, match="anguage"):
                _make_analyzer(wrong)
    with pytest.raises(ValidationError, match="needs a language"):
        TantivyTextSettings(language=None, stop_words=True)


def test_a_project_analyzer_replaces_the_engines() -> None:
    own = LanguageAnalyzerSettings()
    analyze = make_analyze(TantivyTextSettings(analyzer=own))
    assert analyze("parse_json of Ferries") == own.build().analyze("parse_json of Ferries")
