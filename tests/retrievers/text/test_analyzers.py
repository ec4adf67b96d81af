from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from assay.retrievers.base import AssayError
from assay.retrievers.text import tokens
from assay.retrievers.text.analyzers import AnalyzerSettings
from assay.retrievers.text.languages import STOP_WORDS, Language, LanguageAnalyzerSettings
from assay.retrievers.text.tokens import fold

SETTINGS = TypeAdapter(AnalyzerSettings)
WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=8)
NUMBER = st.integers(0, 99999).map(str)
DASH = st.sampled_from("-‐‑‒–—―−﹣－")


def make(settings):
    return SETTINGS.validate_python(settings).build()


ENGLISH = make("english")
CODE = make("code")
BIGRAMS = make("chinese")
EVERY = [ENGLISH, CODE, BIGRAMS, *map(make, ("plain", "words", "french", {"identifiers": False}))]
LETTERS = "图书館猫かなカナー도서관ประเทศน้ำaZ3 ,。\n"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("getUserById", ["getuserbyid", "get", "user", "by", "id"]),
        ("parse_json_data", ["parse_json_data", "pars", "json", "data"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("§ 42–3131.17", ["42-3131.17", "42", "3131", "17"]),
        ("42 — 3131.17", ["42-3131.17", "42", "3131", "17"]),
        ("203(a)(1)", ["203(a)(1)", "203", "a", "1"]),
        ("203 (a) (1)", ["203(a)(1)", "203", "a", "1"]),
        ("42-301(b)", ["42-301(b)", "42-301", "42", "301", "b"]),
        ("v2.3.1", ["v2.3.1", "v2", "v", "2", "3", "1"]),
        ("GV-200", ["gv-200", "gv", "200"]),
        ("__init__", ["__init__", "init"]),
        ("self.parse_json(x)", ["self.parse_json", "self", "parse_json", "pars", "json", "x"]),
        ("std::vector", ["std::vector", "std", "vector"]),
        ("RNAs", ["rnas"]),
        ("state-of-the-art", ["state-of-the-art", "state", "art"]),
        ("The patient's dogs don't run", ["patient", "dog", "run"]),
        ("vitamin D, T cells", ["vitamin", "d", "t", "cell"]),
        ("naïve CAFÉ Straße ﬁnes", ["naiv", "cafe", "strass", "fine"]),
        ("soft\u00adhyphen", ["softhyphen"]),
        ("what is it", []),
        ("… — _ ' ()", []),
        ("", []),
    ],
)
def test_english(text, terms):
    assert ENGLISH.analyze(text) == terms


@pytest.mark.parametrize(
    ("settings", "text", "terms"),
    [
        ("plain", "The CAFÉS of get_user", ["the", "cafes", "of", "get", "user"]),
        ("words", "The CAFÉS of get_user", ["the", "cafés", "of", "get_user"]),
        ({"stop_words": False}, "the dogs", ["the", "dog"]),
        ({"stemming": False}, "the dogs", ["dogs"]),
        ({"identifiers": False}, "the getUsers dogs", ["getus", "dog"]),
        ("french", "L’homme n’a pas été élevé", ["homm", "elev"]),
        ("german", "Die Häuser", ["haus"]),
        ({"language": "hindi", "stop_words": False}, "किताबें", ["किताब"]),
    ],
)
def test_other_analyzers(settings, text, terms):
    assert make(settings).analyze(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("getUserById", ["getuserbyid", "get", "user", "by", "id"]),
        ("parse_json_data", ["parse_json_data", "parse", "json", "data"]),
        ("HTTPResponse", ["httpresponse", "http", "response"]),
        ("std::vector", ["std", "::", "vector"]),
        ("C++", ["c++"]),
        ("myVar123", ["myvar123", "my", "var", "123"]),
        ("C++17, c# and F#", ["c++", "17", "c#", "and", "f#"]),
        ("i++", ["i"]),
        ("self.__init__(x) -> y", ["self", "__init__", "init", "x", "->", "y"]),
        ("the functions", ["the", "functions"]),
        ("a!=b", ["a", "!=", "b"]),
        ("größe_neu", ["grosse_neu", "grosse", "neu"]),
        ("( ) ; ' _", []),
        ("", []),
    ],
)
def test_code(text, terms):
    assert CODE.analyze(text) == terms


def test_a_name_stands_for_settings():
    assert SETTINGS.validate_python("german") == SETTINGS.validate_python({"language": "german"})
    assert SETTINGS.validate_python("plain") == SETTINGS.validate_python({"type": "plain"})
    for whole in ({"type": "unspaced", "language": "thai"}, {"language": "thai"}):
        assert SETTINGS.validate_python("thai") == SETTINGS.validate_python(whole)
    options = SETTINGS.json_schema()["anyOf"]
    assert any("english" in option.get("enum", ()) for option in options)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("klingon", "allowed: plain, words, code, or a language: chinese"),
        ({"language": "hindi"}, "set stop_words: false"),
        ({"type": "plain", "stemming": True}, "Extra inputs"),
        ({"language": "english", "stemming": "yes"}, "valid boolean"),
        ({"language": "thai", "terms": "words"}, "Extra inputs"),
        ({"language": "korean", "stemming": True}, "Extra inputs"),
        ("japanase", "did you mean japanese"),
    ],
)
def test_refuses(settings, words):
    with pytest.raises(ValidationError, match=words):
        SETTINGS.validate_python(settings)


def test_every_language_builds():
    for language in get_args(Language):
        analyzer = make({"language": language, "stop_words": language in STOP_WORDS})
        assert analyzer.analyze("parse_json")[0] == "parse_json"


def test_a_language_that_pystemmer_lacks_is_named(monkeypatch):
    settings = SETTINGS.validate_python("german").model_copy(update={"language": "klingon"})
    monkeypatch.setitem(STOP_WORDS, "klingon", "GERMAN")
    with pytest.raises(AssayError, match=r"no klingon; it has: arabic"):
        settings.build()


@given(st.text())
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


@given(st.text() | st.text(LETTERS, max_size=40))
def test_any_text_gives_plain_terms(text):
    for analyzer in EVERY:
        terms = analyzer.analyze(text)
        assert terms == analyzer.analyze(text)
        assert all(terms)
        assert not any(character.isspace() for term in terms for character in term)


@given(st.lists(WORD, min_size=2, max_size=5))
def test_a_name_is_found_whole_and_by_its_parts(parts):
    snake = "_".join(parts)
    assert snake in ENGLISH.analyze(f"call {snake}() now")
    camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
    for name in (snake, camel, f"module.{camel}", f"{snake}.py"):
        terms = set(ENGLISH.analyze(name))
        assert set(ENGLISH.analyze(" ".join(parts))) <= terms
    assert set(ENGLISH.analyze(camel)) <= set(ENGLISH.analyze(f"module.{camel}"))
    assert set(ENGLISH.analyze(camel.lower())) <= set(ENGLISH.analyze(camel))


@given(NUMBER, DASH, NUMBER, NUMBER, st.sampled_from(["", " ", "\u00a0"]))
def test_a_section_number_is_found_with_any_dash_and_space(title, dash, section, part, space):
    written = f"under § {title}{space}{dash}{space}{section}.{part}, whoever"
    terms = ENGLISH.analyze(written)
    assert f"{title}-{section}.{part}" in terms
    assert {title, section, part} <= set(terms)


@pytest.mark.parametrize(
    "piece",
    [
        "_",
        "-",
        "a-",
        "1",
        "1 - ",
        "a'",
        "1(a)",
        "aA",
        "_a",
        "a.",
        "e\u0301",
        "\u0301",
        "图",
        "カ",
        "도",
        "ป",
        "เ",
        "\u0e49",
        "图a",
    ],
)
def test_long_runs_of_one_mark_end(piece):
    # At quadratic cost these would take minutes each.
    for analyzer in (ENGLISH, CODE, BIGRAMS):
        assert "" not in analyzer.analyze(piece * 100_000)


def test_the_memo_stays_small(monkeypatch):
    monkeypatch.setattr(tokens, "MEMO_SIZE", 10)
    analyzer = make("english")
    text = " ".join(f"word{number}" for number in range(100)) + " " + "x" * 10_000
    assert analyzer.analyze(text) == analyzer.analyze(text)
    assert len(analyzer._memo) <= 10  # type: ignore[attr-defined]
    assert max(map(len, analyzer._memo)) < 100  # type: ignore[attr-defined]


WITHOUT_ACCENTS = [
    ("english", "résumé", "resume"),
    ("english", "cliché", "cliche"),
    ("english", "exposé", "expose"),
    ("french", "sécurité", "securite"),
    ("portuguese", "informação", "informacao"),
    ("italian", "qualità", "qualita"),
    ("spanish", "canción", "cancion"),
    ("german", "Größe", "grosse"),
    ("english", "Łódź", "Lodz"),
    ("english", "Tromsø", "Tromso"),
    ("danish", "Ærøskøbing", "aeroskobing"),
    ("english", "Đorđević", "Dordevic"),
    ("french", "œuvre", "oeuvre"),
    ("german", "Straße", "Strasse"),
    ("turkish", "ılık", "ilik"),
]


@pytest.mark.parametrize(("language", "written", "typed"), WITHOUT_ACCENTS)
def test_a_word_is_found_by_who_types_it_without_accents(language, written, typed):
    analyzer = LanguageAnalyzerSettings(language=language, stop_words=False).build()
    accented, plain = analyzer.analyze(written), analyzer.analyze(typed)
    assert set(plain) <= set(accented)
    assert analyzer.analyze(written.upper() if language != "turkish" else written) == accented
    assert len(accented) == len(set(accented)) <= 2
    assert len(plain) == 1
    # Nor does an ordinary letter that Unicode takes apart make a second term.
    russian = LanguageAnalyzerSettings(language="russian").build()
    assert len(russian.analyze("новый речной трамвай")) == 3
