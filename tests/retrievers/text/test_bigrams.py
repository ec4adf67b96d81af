"""Languages whose words do not stand between blanks: their terms, and who is told of them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from tools.recording_progress import RecordingProgress

from assay.eval.collections.loading import load
from assay.retrievers.base import Chunk
from assay.retrievers.base.scripts import find_unspaced
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.keyword import KeywordLegSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache
from assay.retrievers.text.analyzers import AnalyzerSettings, doubt

SETTINGS = TypeAdapter(AnalyzerSettings)
CHINESE = "市立图书馆的书能借多久"
JAPANESE = "図書館で猫の本を借りました"
KOREAN = "도서관에서 책을 빌렸습니다"
THAI = "ยืมหนังสือห้องสมุด"
LETTERS = "图書館猫かなカナー도서관ประเทศน้ำaZ3 ,。\n"


def make(settings):
    return SETTINGS.validate_python(settings).build()


BIGRAMS = make("chinese")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("图书馆", ["图书", "书馆", "图", "书", "馆"]),
        ("猫", ["猫"]),
        ("猫の本", ["猫の", "の本", "猫", "本"]),
        ("ﾃﾞｰﾀ", ["デー", "ータ"]),
        ("책을 빌", ["책을", "빌"]),
        ("ประเทศ", ["ประ", "ระเท", "เทศ"]),
        ("型号GV-200。", ["型号", "型", "号", "gv-200", "gv", "200"]),
        ("ＡＩ 모델", ["ai", "모델"]),
        ("the running dogs", ["the", "running", "dogs"]),
        ("。、 ", []),
        ("", []),
    ],
)
def test_bigrams(text, terms):
    assert BIGRAMS.analyze(text) == terms


# Of one script: where a word changes it, each part is a run of its own.
WORDS = st.sampled_from(["图書館猫", "かな", "カナー", "도서관"]).flatmap(
    lambda letters: st.text(letters, min_size=2)
)


@given(WORDS, st.text(LETTERS, max_size=20), st.text(LETTERS))
def test_what_is_part_of_a_text_shares_a_term_with_it(word, before, after):
    assert set(BIGRAMS.analyze(word)) & set(BIGRAMS.analyze(f"{before}{word}{after}"))


@pytest.mark.parametrize(
    ("texts", "languages"),
    [
        ([CHINESE], ["chinese"]),
        ([JAPANESE], ["japanese"]),
        ([KOREAN], ["korean"]),
        ([THAI], ["thai"]),
        ([CHINESE, JAPANESE, JAPANESE], ["japanese", "chinese"]),
        (["an English text that names 東京 once", "Größe", "книга"], []),
        (["", "123 …"], []),
        ([], []),
        (["1" * 100, "東京の港は深い"], ["japanese"]),  # digits are no letters
    ],
)
def test_scripts_are_told_apart(texts, languages):
    assert list(find_unspaced(texts)) == languages
    assert not languages or sum(find_unspaced(texts).values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("settings", "text", "says"),
    [
        ("english", CHINESE, "analyzer english.*100% are Chinese.*with analyzer: chinese"),
        ("words", KOREAN, "analyzer words.*Korean.*analyzer: korean"),
        ("thai", CHINESE, "^$"),
        ("english", "plain English", "^$"),
    ],
)
def test_an_analyzer_that_does_not_suit_is_named(settings, text, says):
    assert re.search(says, doubt(SETTINGS.validate_python(settings), [text]))


def make_corpus():
    return Corpus([Chunk("a", "a", 0, len(CHINESE), CHINESE)])


@pytest.mark.parametrize("weights", [None, {}])
def test_a_leg_says_it_each_time(weights, tmp_path):
    for analyzer, said in (("english", 2), ("chinese", 0)):
        progress = RecordingProgress()
        for _ in range(2):  # the second finds its index in the cache
            values = {"weights": weights, "analyzer": analyzer, "variant": "lucene"}
            leg = KeywordLegSettings.model_validate(values).build(
                Resources(Cache(tmp_path), progress)
            )
            leg.index(make_corpus())
        assert len(progress.lines) == said
        assert all(": the analyzer english looks for words" in line for line in progress.lines)


@pytest.mark.parametrize("language", ["chinese", "japanese", "korean", "thai"])
def test_notices_are_found(language, tmp_path):
    """The figures of docs/pipelines.md."""
    collection = load(f"town_notices:{language}")
    chunks = [
        Chunk(document.id, document.id, 0, len(document.text), document.text)
        for document in collection.documents
    ]
    values = {"analyzer": language, "variant": "lucene", "k1": 1.2, "b": 0.6}
    leg = KeywordLegSettings.model_validate(values).build(Resources(Cache(tmp_path)))
    leg.index(Corpus(chunks))
    assert len(collection.queries) == 24
    for query in collection.queries:
        ((position, _),) = leg.search(query.text, 1).candidates
        assert query.id == f"q-{chunks[position].id}"
