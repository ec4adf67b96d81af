"""The analyzer of languages whose words stand between blanks: stems without stop words."""

import re
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Literal

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.settings import Settings
from assay.retrievers.text.base import Analyzer
from assay.retrievers.text.tokens import (
    JOINED,
    LONGEST_SPLIT,
    MEMBERS,
    WORD,
    WORDS,
    Memo,
    fold,
    normalise,
    split_name,
)

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
CONTRACTION = re.compile(r"'(?:s|t|d|m|ll|re|ve)$", re.IGNORECASE)
NOT_A_WORD = re.compile(r"[\d_.:-]")


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


class _LanguageAnalyzer(Analyzer):
    """Finds tokens by one expression; what a token becomes is worked out once and remembered."""

    def __init__(self, settings: LanguageAnalyzerSettings) -> None:
        self._tokens = JOINED if settings.identifiers else re.compile(rf"{WORD}(?:'{WORD})*")
        self._stop = _stop_words(settings.language) if settings.stop_words else frozenset[str]()
        self._english = settings.language in ("english", "porter")
        self._identifiers = settings.identifiers
        self._stemmer = _make_stemmer(settings.language) if settings.stemming else None
        self._lock = threading.Lock()
        self._memo = Memo(self._terms)

    def analyze(self, text: str) -> list[str]:
        tokens = self._tokens.findall(normalise(text))
        return list(chain.from_iterable(map(self._memo.__getitem__, tokens)))

    def _terms(self, token: str) -> tuple[str, ...]:
        if token.isascii() and token.isalpha() and token.islower():  # most are: a word, no name
            return self._word(token)
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
        humps = split_name(name)
        if len(humps) == 1 and "_" not in name:
            return self._word(name)
        # The parts of a name are terms even where they are stop words: the `by` of getUserById.
        return tuple(chain(*(self._stem(part.casefold()) for part in (name, *humps))))

    def _word(self, word: str) -> tuple[str, ...]:
        folded = word.casefold()
        return () if fold(folded) in self._stop else self._stem(folded)

    def _stem(self, word: str) -> tuple[str, ...]:
        """Return the folded stem of `word`; what is not all letters keeps its ending.

        Stemmers expect diacritics, so these are stripped last. Who writes without them, though,
        gets another stem, so that of the word without them is a term too: resume finds résumé.
        """
        if self._stemmer is None or NOT_A_WORD.search(word):
            return (fold(word),)
        typed = word if word.isascii() else fold(word)
        # Nobody leaves out the mark of й, which is in every second ending of Russian.
        words = (word,) if typed == word.replace("й", "и") else (word, typed)
        with self._lock:  # a PyStemmer object must not be shared by threads
            return tuple(dict.fromkeys(fold(self._stemmer(each)) for each in words))


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


def _load_lists() -> ModuleType:
    """Return bm25s' module of stop words by itself: the package, with scipy, takes far longer."""
    package = find_spec("bm25s")
    assert package is not None
    assert package.origin is not None
    lists = spec_from_file_location("bm25s_stopwords", Path(package.origin).parent / "stopwords.py")
    assert lists is not None
    assert lists.loader is not None
    module = module_from_spec(lists)
    lists.loader.exec_module(module)
    return module


@cache
def _stop_words(language: str) -> frozenset[str]:
    words: Sequence[str] = getattr(_load_lists(), f"STOPWORDS_{STOP_WORDS[language]}")
    english = STOP_WORDS[language] == "EN_PLUS"
    return frozenset(fold(word) for word in words) - (HALVES if english else frozenset())
