"""Engines whose keyword list does not suit the script of a collection: who is told, and of what."""

from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter
from tools.recording_progress import RecordingProgress
from tools.served_models import Serve, choose_encoder

from assay.retrievers.base import Chunk
from assay.retrievers.base.scripts import Unspaced
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.engines.registry import ENGINES, EngineSettings
from assay.retrievers.legs.native import (
    EngineDenseSettings,
    EngineKeywordSettings,
    NativeHybridSettings,
)
from assay.retrievers.settings import Resources
from assay.retrievers.settings.files import parse_mapping
from assay.retrievers.store.cache import Cache

SETTINGS: TypeAdapter[StoreSettings] = TypeAdapter(EngineSettings)
TEXTS: dict[Unspaced, str] = {
    "chinese": "市立图书馆的书能借多久",
    "japanese": "図書館で猫の本を借りました",
    "korean": "도서관에서 책을 빌렸습니다",
    "thai": "ยืมหนังสือห้องสมุด",
}
WITHOUT_KEYWORDS = {"faiss", "chroma"}
UNKNOWN = {"pinecone"}
TOLD = sorted(set(ENGINES.types) - WITHOUT_KEYWORDS - UNKNOWN)


def choose(type_: str, given: dict[str, Any] | None = None) -> StoreSettings:
    return SETTINGS.validate_python({"type": type_, **(given or {})})


@pytest.mark.parametrize("type_", TOLD)
def test_what_an_engine_is_said_to_find_words_by_can_be_set(type_: str) -> None:
    for language in get_args(Unspaced):
        text = [TEXTS[language]]
        plain = choose(type_)
        doubt = plain.doubt_words(text)
        assert f"keyword list of {type_} looks for words between blanks" in doubt
        assert f"100% are {language.capitalize()}" in doubt
        assert plain.words is not None
        values = plain.words.suited.get(language, ())
        if not values:
            assert doubt.endswith(f"a leg bm25 with analyzer: {language} beside it finds them")
        for value in values:
            given: Any = value
            for name in reversed(plain.words.key.split(".")):
                given = {name: given}
            assert choose(type_, given).doubt_words(text) == ""
        if values:
            _, _, advice = doubt.partition("with engine: ")
            proposed = parse_mapping(advice.removesuffix(" they are found"), "advice")
            assert choose(type_, proposed).doubt_words(text) == ""
    assert choose(type_).doubt_words(["plain English"]) == ""


def test_another_language_s_words_are_still_in_doubt() -> None:
    milvus = choose("milvus", {"bm25": {"tokenizer": "jieba"}})
    assert milvus.doubt_words([TEXTS["chinese"]]) == ""
    assert "100% are Thai" in milvus.doubt_words([TEXTS["thai"]])
    own = choose("postgres", {"text": {"language": "zhparser"}})
    assert own.doubt_words([TEXTS["chinese"]]) == ""
    assert choose("pinecone").doubt_words([TEXTS["chinese"]]) == ""


def test_a_leg_says_so_where_it_asks_the_keyword_list(serve: Serve, tmp_path: Path) -> None:
    encoder, engine = choose_encoder(serve()), choose("sqlite")
    corpus = Corpus([Chunk("c", "d", 0, 11, TEXTS["chinese"])])
    legs = (
        (NativeHybridSettings(type="native_hybrid", engine=engine, encoder=encoder), 1),
        (EngineKeywordSettings(type="engine_keyword", engine=engine, encoder=encoder), 1),
        (EngineDenseSettings(type="engine_dense", engine=engine, encoder=encoder), 0),
    )
    for settings, told in legs:
        heard = RecordingProgress()
        leg = settings.build(Resources(Cache(tmp_path / "cache"), heard))
        leg.index(corpus)
        leg.close()
        assert len(heard.lines) == told
        assert all(line.startswith("warning: the keyword list of sqlite") for line in heard.lines)
