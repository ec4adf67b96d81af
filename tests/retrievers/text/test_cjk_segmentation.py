"""Languages whose words do not stand between blanks: their terms, and who is told of them."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from tools.recording_progress import RecordingProgress

from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.base.scripts import find_unspaced
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.keyword import KeywordLegSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache
from assay.retrievers.text.analyzers import AnalyzerSettings, doubt, find_versions
from assay.retrievers.text.cjk_segmentation import SEGMENTERS

SETTINGS: TypeAdapter[Any] = TypeAdapter(AnalyzerSettings)
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


@pytest.mark.parametrize(
    ("language", "package", "text", "terms"),
    [
        ("chinese", "jieba", "市立图书馆 X-1", ["市立", "图书", "书馆", "图书馆", "x-1", "x", "1"]),
        ("japanese", "fugashi", JAPANESE, ["図書", "館", "猫", "本", "借りる"]),
        ("japanese", "fugashi", "ネコをさがす", ["猫", "探す"]),
        ("japanese", "fugashi", "安倍と阿部", ["安倍", "阿部"]),
        ("korean", "kiwipiepy", KOREAN, ["도서관", "책", "빌리"]),
        ("korean", "kiwipiepy", "도서관 猫", ["도서관", "猫"]),
    ],
)
def test_words(language, package, text, terms):
    pytest.importorskip(package, reason=f"needs the extra `{language}`")
    settings = SETTINGS.validate_python({"language": language, "terms": "words"})
    assert settings.build().analyze(text) == terms
    assert package in find_versions(settings)


def test_a_name_stands_for_bigrams():
    whole = {"type": "unspaced", "language": "thai", "terms": "bigrams"}
    assert SETTINGS.validate_python("thai") == SETTINGS.validate_python(whole)
    assert SETTINGS.validate_python({"language": "thai"}) == SETTINGS.validate_python(whole)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"language": "thai", "terms": "words"}, "no words of thai; set terms: bigrams"),
        ({"language": "korean", "stemming": True}, "Extra inputs"),
        ("japanase", "did you mean japanese"),
    ],
)
def test_refuses(settings, says):
    with pytest.raises(ValidationError, match=says):
        SETTINGS.validate_python(settings)


@pytest.fixture(scope="module", autouse=True)
def dictionaries():
    """That of Kiwi takes 450 MB."""
    yield
    for segmenter in SEGMENTERS.values():
        segmenter.cache_clear()  # type: ignore[attr-defined]


@pytest.mark.parametrize("language", ["chinese", "japanese", "korean"])
def test_without_its_package_the_extra_is_named(language, monkeypatch):
    for name in ("jieba", "fugashi", "kiwipiepy"):
        monkeypatch.setitem(sys.modules, name, None)
    SEGMENTERS[language].cache_clear()  # type: ignore[attr-defined, index]
    says = f"words of {language}: needs the extra `{language}`.*terms: bigrams"
    with pytest.raises(AssayError, match=says):
        make({"language": language, "terms": "words"})


@given(st.text(LETTERS, max_size=40))
def test_any_text_gives_plain_terms(text):
    terms = BIGRAMS.analyze(text)
    assert all(terms)
    assert not any(character.isspace() for term in terms for character in term)


# Of one script: where a word changes it, each part is a run of its own.
WORDS = st.sampled_from(["图書館猫", "かな", "カナー", "도서관"]).flatmap(
    lambda letters: st.text(letters, min_size=2)
)


@given(WORDS, st.text(LETTERS, max_size=20), st.text(LETTERS))
def test_what_is_part_of_a_text_shares_a_term_with_it(word, before, after):
    assert set(BIGRAMS.analyze(word)) & set(BIGRAMS.analyze(f"{before}{word}{after}"))


def test_long_texts_end():
    for piece in ("图", "カ", "도", "ป", "เ", "\u0e49", "图a"):
        assert "" not in BIGRAMS.analyze(piece * 50_000)


def test_threads_agree():
    pytest.importorskip("fugashi", reason="needs the extra `japanese`")
    analyzer = make({"language": "japanese", "terms": "words"})
    texts = [f"{JAPANESE}{number}" for number in range(300)]
    expected = [analyzer.analyze(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyzer.analyze, texts)) == expected


def test_jieba_says_and_writes_nothing(tmp_path):
    pytest.importorskip("jieba", reason="needs the extra `chinese`")
    code = (
        "from assay.retrievers.text.cjk_segmentation import UnspacedAnalyzerSettings as S;"
        "S(type='unspaced', language='chinese', terms='words').build().analyze('图书馆')"
    )
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", code],
        capture_output=True,
        check=True,
        env={"TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    assert not list(tmp_path.iterdir())


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
    ],
)
def test_scripts_are_told_apart(texts, languages):
    assert list(find_unspaced(texts)) == languages


@pytest.mark.parametrize(
    ("settings", "text", "says"),
    [
        ("english", CHINESE, "analyzer english.*100% are Chinese.*with analyzer: chinese"),
        ("words", KOREAN, "analyzer words.*Korean.*analyzer: korean"),
        ({"language": "chinese", "terms": "words"}, KOREAN, "^$"),
        ({"language": "thai", "terms": "bigrams"}, CHINESE, "^$"),
        ({"language": "chinese", "terms": "words"}, CHINESE, "^$"),
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
    """The figures of docs/pipelines.md, with bigrams."""
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


def test_digits_of_plain_texts_are_no_letters():
    assert find_unspaced(["1" * 100, "東京の港は深い"]) == {"japanese": 1.0}
