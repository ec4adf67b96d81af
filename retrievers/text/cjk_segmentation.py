"""The analyzer of languages whose words do not stand between blanks.

Pairs of neighbouring characters need no dictionary: every word of two characters or more shares a
pair with each text that holds it (as Lucene's CJKBigramFilter has it). Words need a dictionary, and
with it a package of the extra of that name.
"""

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Literal

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import hint_extra
from assay.retrievers.base.patterns import compile_late
from assay.retrievers.base.scripts import HAN, HANGUL, KANA, Unspaced
from assay.retrievers.settings import Settings
from assay.retrievers.text.base import Analyzer
from assay.retrievers.text.languages import LanguageAnalyzerSettings
from assay.retrievers.text.tokens import fold, normalise

# A Thai consonant with the vowels and signs around it; none of those occurs alone.
CLUSTER = "[\u0e40-\u0e44]?[\u0e01-\u0e2e][\u0e30-\u0e3a\u0e45\u0e47-\u0e4e]*"
RUN = compile_late(f"[{HAN}{KANA}]+|[{HANGUL}]+|(?:{CLUSTER})+")
UNITS = compile_late(f"{CLUSTER}|.", re.DOTALL)
IDEOGRAPH = compile_late(f"[{HAN}]")
# What goes to the segmenter of a language in one piece: Korean is read with its blanks.
WRITTEN: Mapping[Unspaced, re.Pattern[str]] = {
    "chinese": compile_late(f"[{HAN}]+"),
    "japanese": compile_late(f"[{HAN}{KANA}]+"),
    "korean": compile_late(f"[{HANGUL}]+(?:[ \t\n]+[{HANGUL}]+)*"),
}
PACKAGES: Mapping[Unspaced, Sequence[str]] = {
    "chinese": ("jieba",),
    "japanese": ("fugashi", "unidic-lite"),
    "korean": ("kiwipiepy", "kiwipiepy_model"),
}
# UniDic: particles, auxiliaries, punctuation, blanks.
JAPANESE_FUNCTION = frozenset({"助詞", "助動詞", "補助記号", "空白"})
JAPANESE_NAME = "固有名詞"
# Sejong: nouns, verbs and adjectives but auxiliary ones, modifiers, roots, prefixes, interjections.
KOREAN_CONTENT = ("N", "VV", "VA", "M", "XR", "XPN", "IC")

Segment = Callable[[str], list[str]]


class UnspacedAnalyzerSettings(Settings):
    """Chinese, Japanese, Korean and Thai: pairs of characters, or words found by a dictionary."""

    type: Literal["unspaced"]
    language: Unspaced = Field(description="language of the words")
    terms: Literal["bigrams", "words"] = Field(
        "bigrams",
        description="bigrams: pairs of neighbouring characters, of all four languages alike, and "
        "single ideographs; words: of `language` by jieba (extra `chinese`), fugashi with UniDic "
        "(`japanese`) or Kiwi (`korean`), those two without function words, and bigrams of the "
        "others",
    )

    @model_validator(mode="after")
    def _has_words(self) -> "UnspacedAnalyzerSettings":
        if self.terms == "words" and self.language not in WRITTEN:
            raise ValueError(
                f"there are no words of {self.language}; set terms: bigrams, or choose one of: "
                f"{', '.join(WRITTEN)}"
            )
        return self

    @property
    def packages(self) -> Sequence[str]:
        """The packages that find the words, by the names of their distributions."""
        return PACKAGES[self.language] if self.terms == "words" else ()

    def build(self) -> Analyzer:
        """Return the analyzer. Raises AssayError without the package that finds the words."""
        if self.terms == "bigrams":
            return _BigramAnalyzer()
        try:
            return _WordAnalyzer(self.language)
        except ImportError:
            raise AssayError(
                f"analyzer.terms: words of {self.language}: {hint_extra(self.language)}; "
                "or set terms: bigrams"
            ) from None


class _Layer(Analyzer, ABC):
    """Analyses what is written in some script, and leaves what stands between to another."""

    def __init__(self, written: re.Pattern[str], others: Analyzer) -> None:
        self._written = written
        self._others = others

    def analyze(self, text: str) -> list[str]:
        return list(self._read(normalise(text)))

    def _read(self, text: str) -> Iterator[str]:
        end = 0
        for run in self._written.finditer(text):
            yield from self._others.analyze(text[end : run.start()])
            yield from self._terms(run.group())
            end = run.end()
        yield from self._others.analyze(text[end:])

    @abstractmethod
    def _terms(self, run: str) -> list[str]:
        """Return the terms of a run of the script."""


class _BigramAnalyzer(_Layer):
    """Pairs of characters, of clusters in Thai; an ideograph is also a term, being often a word."""

    def __init__(self) -> None:
        names = LanguageAnalyzerSettings(stop_words=False, stemming=False)
        super().__init__(RUN, names.build())

    def _terms(self, run: str) -> list[str]:
        units = UNITS.findall(fold(run))
        if len(units) == 1:
            return units
        pairs = [first + second for first, second in pairwise(units)]
        return pairs + [unit for unit in units if IDEOGRAPH.match(unit)]


class _WordAnalyzer(_Layer):
    """Words of one language; of the others, pairs."""

    def __init__(self, language: Unspaced) -> None:
        super().__init__(WRITTEN[language], _BigramAnalyzer())
        self._segment = SEGMENTERS[language]()

    def _terms(self, run: str) -> list[str]:
        return [folded for word in self._segment(run) if (folded := fold(word))]


@cache
def _load_jieba() -> Segment:
    """Return jieba's search mode, which gives the words inside of long words too."""
    import logging
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own source
        import jieba
    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    # By itself it keeps its dictionary in the machine's temporary folder, whoever wrote it there.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return lambda text: list(tokenizer.cut_for_search(text))


@cache
def _load_fugashi() -> Segment:
    """Return UniDic's lemmas, one for all spellings of a word, and names as they are spelt."""
    import fugashi
    import unidic_lite

    tagger = fugashi.Tagger(f'-d "{unidic_lite.DICDIR}"')
    lock = threading.Lock()  # a tagger must not be shared by threads

    def segment(text: str) -> list[str]:
        with lock:
            return [
                _find_term(word.feature) or word.surface
                for word in tagger(text)
                if word.feature.pos1 not in JAPANESE_FUNCTION
            ]

    return segment


def _find_term(feature: Any) -> str:
    """Return the term that UniDic's `feature` gives a word; "" if it knows none."""
    if feature.pos2 == JAPANESE_NAME:  # whose lemma is its reading, which other names share
        return feature.orthBase or ""
    return (feature.lemma or "").partition("-")[0]


@cache
def _load_kiwi() -> Segment:
    """Return Kiwi's morphemes without particles and endings."""
    from kiwipiepy import Kiwi

    kiwi = Kiwi(num_workers=1)
    lock = threading.Lock()

    def segment(text: str) -> list[str]:
        with lock:
            tokens = kiwi.tokenize(text)
        return [token.form for token in tokens if token.tag.startswith(KOREAN_CONTENT)]

    return segment


SEGMENTERS: Mapping[Unspaced, Callable[[], Segment]] = {
    "chinese": _load_jieba,
    "japanese": _load_fugashi,
    "korean": _load_kiwi,
}
