"""Analyzers: a text becomes the terms that the keyword index counts.

Queries and passages go through the same analyzer, so only equality of terms matters, never
their looks.
"""

import re
import threading
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from retrievers.base import AssayError
from retrievers.base.suggestions import suggest
from retrievers.settings import Settings

# What PyStemmer (Snowball) has; `porter` is the English stemmer of 1980.
Language = Literal[
    "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "dutch_porter",
    "english", "esperanto", "estonian", "finnish", "french", "german", "greek", "hindi",
    "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "persian",
    "polish", "porter", "portuguese", "romanian", "russian", "serbian", "sesotho", "spanish",
    "swedish", "tamil", "turkish", "yiddish",
]  # fmt: skip

# The names of bm25s' lists of stop words.
STOP_WORDS = {
    "danish": "DANISH", "dutch": "DUTCH", "dutch_porter": "DUTCH", "english": "EN_PLUS",
    "french": "FRENCH", "german": "GERMAN", "italian": "ITALIAN", "norwegian": "NORWEGIAN",
    "porter": "EN_PLUS", "portuguese": "PORTUGUESE", "russian": "RUSSIAN", "spanish": "SPANISH",
    "swedish": "SWEDISH", "turkish": "TURKISH",
}  # fmt: skip
# The English list holds the halves of contractions. They are not stop words: "vitamin D", "T cell".
HALVES = frozenset({
    "ain", "aren", "couldn", "d", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn", "ll", "m",
    "ma", "mightn", "mustn", "needn", "o", "re", "s", "shan", "shouldn", "t", "ve", "wasn", "weren",
    "won", "wouldn", "y",
})  # fmt: skip

# Diacritics, but not the vowel signs of Indic scripts or the voicing marks of kana.
DIACRITICS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
# Dashes and the minus sign become a hyphen; soft hyphens and zero-width characters vanish.
PUNCTUATION = dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-") | {
    0x2018: "'", 0x2019: "'", 0x02BC: "'", 0x00AD: None, 0x200B: None, 0x2060: None, 0xFEFF: None,
}  # fmt: skip

# Marks that belong to a word and that Python's \w leaves out: diacritics that have no composed
# form, Arabic, Devanagari and Tamil vowels.
SIGNS = (
    "\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0903\u093a-\u094f\u0951-\u0957"
    "\u0962\u0963\u0b82\u0bbe-\u0bcd\u0bd7"
)
WORD = rf"[^\W_]+(?:[{SIGNS}]+[^\W_]*)*"
WORDS = re.compile(WORD)
# A word, or several with what joins the parts of a name: parse_json, GV-200, v2.3.1, std::vec,
# 203(a)(1), 42 - 3131.17.
JOINED = re.compile(
    rf"(?:(?<!_)_+)?{WORD}(?:(?:_+|[-.']|::|(?<=\d) ?- ?(?=\d)){WORD})*_*"
    r"(?:(?<=\d)(?: ?\((?:[A-Za-z]{1,2}|\d{1,3}|[ivxIVX]{1,5})\))+)?"
)
# C++, ->, parse_json: names whole, operators of several characters, languages with marks.
CODE = re.compile(
    rf"(?<!\w)(?:[CG]\+\+|[CFJ]\#)(?![^\W\d])|(?:(?<!_)_+)?{WORD}(?:_+{WORD})*_*"
    r"|::|->|=>|&&|\|\||[=!<>]=",
    re.IGNORECASE,
)
MEMBERS = re.compile(rf"_*{WORD}(?:_+{WORD})*_*")
# HTTPServer2 is HTTP, Server, 2; RNAs is one word.
HUMPS = re.compile(r"[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+|\d+")
LETTERS_OR_DIGITS = re.compile(r"[^\d_]+|\d+")
CONTRACTION = re.compile(r"'(?:s|t|d|m|ll|re|ve)$", re.IGNORECASE)

NOT_A_WORD = re.compile(r"[\d_.:-]")

LONGEST_SPLIT = 80  # characters; beyond, it is data rather than a name
MEMO_SIZE = 1 << 18


class Analyzer(ABC):
    """Turns a text into terms. Deterministic, and safe to call from several threads."""

    @abstractmethod
    def analyze(self, text: str) -> list[str]:
        """Return the terms of `text` in order of appearance, repeated as often as they occur."""


class LanguageAnalyzerSettings(Settings):
    """Folded, stemmed words of a language without its stop words; identifiers whole and split."""

    type: Literal["language"] = "language"
    language: Language = Field("english", description="language of stop words and stemming")
    stop_words: bool = Field(
        True, description=f"drop the commonest words; known for: {', '.join(STOP_WORDS)}"
    )
    stemming: bool = Field(True, description="reduce words to their Snowball stem")
    identifiers: bool = Field(
        True,
        description=(
            "keep getUserById, parse_json, GV-200, v2.3.1 and 203(a)(1) whole and add their parts"
        ),
    )

    @model_validator(mode="after")
    def _know_stop_words(self) -> "LanguageAnalyzerSettings":
        if self.stop_words and self.language not in STOP_WORDS:
            raise ValueError(
                f"there is no list of stop words for {self.language}; set stop_words: false, "
                f"or choose one of: {', '.join(STOP_WORDS)}"
            )
        return self

    def build(self) -> Analyzer:
        """Return the analyzer. Raises AssayError when PyStemmer lacks the language."""
        return _LanguageAnalyzer(self)


class PlainAnalyzerSettings(Settings):
    """Folded words: lower case without diacritics, nothing dropped, stemmed or split."""

    type: Literal["plain"]

    def build(self) -> Analyzer:
        """Return the analyzer."""
        return _PlainAnalyzer()


class CodeAnalyzerSettings(Settings):
    """Names of source code, whole and split; operators; nothing dropped or stemmed."""

    type: Literal["code"] = "code"

    def build(self) -> "CodeAnalyzer":
        """Return the analyzer."""
        return CodeAnalyzer()


class WordsAnalyzerSettings(Settings):
    r"""The bare tokenizer of many BM25 scripts: `\w+` of the text in lower case."""

    type: Literal["words"]

    def build(self) -> Analyzer:
        """Return the analyzer."""
        return _WordsAnalyzer()


def _expand_name(value: Any) -> Any:
    """Let a name stand for its settings: `plain`, `words`, `code`, or a language."""
    if isinstance(value, str):
        if value in get_args(Language):
            return {"type": "language", "language": value}
        if value not in ("plain", "words", "code"):
            raise ValueError(
                f"unknown analyzer {value!r}; allowed: plain, words, code, or a language: "
                f"{', '.join(get_args(Language))}"
                f"{suggest(value, ('plain', 'words', 'code', *get_args(Language)))}"
            )
        return {"type": value}
    if isinstance(value, dict):
        return {"type": "language"} | value
    return value


AnyAnalyzerSettings = Annotated[
    LanguageAnalyzerSettings | PlainAnalyzerSettings | WordsAnalyzerSettings | CodeAnalyzerSettings,
    Field(discriminator="type"),
]
AnalyzerSettings = Annotated[
    AnyAnalyzerSettings,
    BeforeValidator(
        _expand_name,
        json_schema_input_type=AnyAnalyzerSettings | Literal["plain", "words", "code"] | Language,
    ),
]


def fold(text: str) -> str:
    """Return `text` without distinctions of case, diacritics, width, dashes and apostrophes."""
    if text.isascii():
        return text.lower()
    plain = DIACRITICS.sub("", unicodedata.normalize("NFKD", text).translate(PUNCTUATION))
    return unicodedata.normalize("NFC", plain.casefold())


class _WordsAnalyzer(Analyzer):
    def analyze(self, text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())


class _PlainAnalyzer(Analyzer):
    def analyze(self, text: str) -> list[str]:
        return WORDS.findall(fold(text))


class CodeAnalyzer(Analyzer):
    """Keeps every name whole, without distinction of case, and adds the parts it is made of."""

    def __init__(self) -> None:
        self._memo = _Memo(self._terms)

    def analyze(self, text: str) -> list[str]:
        """Return the tokens of `text`, each followed by its parts."""
        return list(chain.from_iterable(self._read(text)))

    def find_tokens(self, text: str) -> dict[str, bool]:
        """Return each token of `text` as a term, and whether it is a name of several parts."""
        return {whole: bool(parts) for whole, *parts in self._read(text)}

    def _read(self, text: str) -> Iterator[tuple[str, ...]]:
        return map(self._memo.__getitem__, CODE.findall(_normalise(text)))

    def _terms(self, token: str) -> tuple[str, ...]:
        if token[-1] in "+#" or len(token) > LONGEST_SPLIT:
            return (fold(token),)
        parts = _split_name(token)
        return (fold(token), *(fold(part) for part in parts if part != token))


class _LanguageAnalyzer(Analyzer):
    """Finds tokens by one expression; what a token becomes is worked out once and remembered."""

    def __init__(self, settings: LanguageAnalyzerSettings) -> None:
        self._tokens = JOINED if settings.identifiers else re.compile(rf"{WORD}(?:'{WORD})*")
        self._stop = _stop_words(settings.language) if settings.stop_words else frozenset[str]()
        self._english = settings.language in ("english", "porter")
        self._identifiers = settings.identifiers
        self._stemmer = _make_stemmer(settings.language) if settings.stemming else None
        self._lock = threading.Lock()
        self._memo = _Memo(self._terms)

    def analyze(self, text: str) -> list[str]:
        tokens = self._tokens.findall(_normalise(text))
        return list(chain.from_iterable(map(self._memo.__getitem__, tokens)))

    def _terms(self, token: str) -> tuple[str, ...]:
        if "'" in token:
            return self._contracted(token)
        if not self._identifiers or len(token) > LONGEST_SPLIT:
            return self._word(token)
        token = token.replace(" ", "")
        name, bracket, inside = token.partition("(")
        members = MEMBERS.findall(name)
        terms = [term for member in members for term in self._member(member)]
        if len(members) > 1:
            terms.insert(0, fold(name))
        if bracket:
            terms = [fold(token), *terms, *WORDS.findall(fold(inside))]
        return tuple(terms)

    def _contracted(self, token: str) -> tuple[str, ...]:
        """Return the terms of a token with apostrophes: don't, patient's, l'homme, O'Brien."""
        if fold(token) in self._stop:
            return ()
        if self._english:
            token = CONTRACTION.sub("", token)
        return tuple(chain.from_iterable(self._terms(part) for part in token.split("'")))

    def _member(self, name: str) -> tuple[str, ...]:
        """Return the terms of a name without hyphens or dots: getUserById, parse_json, word."""
        humps = _split_name(name)
        if len(humps) == 1 and "_" not in name:
            return self._word(name)
        # The parts of a name are terms even where they are stop words: the `by` of getUserById.
        return (self._stem(name.casefold()), *(self._stem(hump.casefold()) for hump in humps))

    def _word(self, word: str) -> tuple[str, ...]:
        folded = word.casefold()
        return () if fold(folded) in self._stop else (self._stem(folded),)

    def _stem(self, word: str) -> str:
        """Return the folded stem of `word`; what is not all letters keeps its ending.

        Stemmers expect diacritics, so these are stripped last.
        """
        if self._stemmer is None or NOT_A_WORD.search(word):
            return fold(word)
        with self._lock:  # a PyStemmer object must not be shared by threads
            return fold(self._stemmer(word))


def _normalise(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(PUNCTUATION)


def _split_name(name: str) -> list[str]:
    """Return the parts of a name: get, User, By, Id."""
    return (HUMPS if name.isascii() else LETTERS_OR_DIGITS).findall(name)


class _Memo(dict[str, tuple[str, ...]]):
    """Remembers what `make` made of each token, up to a size."""

    def __init__(self, make: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, token: str) -> tuple[str, ...]:
        terms = self._make(token)
        if len(token) <= LONGEST_SPLIT:
            if len(self) >= MEMO_SIZE:
                self.clear()
            self[token] = terms
        return terms


def _make_stemmer(language: str) -> Callable[[str], str]:
    import Stemmer

    try:
        stemmer = Stemmer.Stemmer(language, 0)
    except KeyError:
        allowed = ", ".join(Stemmer.algorithms())
        raise AssayError(
            f"analyzer.language: the installed PyStemmer has no {language}; it has: {allowed}"
        ) from None
    stem: Callable[[str], str] = stemmer.stemWord
    return stem


def _stop_words(language: str) -> frozenset[str]:
    from bm25s import stopwords

    words: Sequence[str] = getattr(stopwords, f"STOPWORDS_{STOP_WORDS[language]}")
    english = STOP_WORDS[language] == "EN_PLUS"
    return frozenset(fold(word) for word in words) - (HALVES if english else frozenset())
