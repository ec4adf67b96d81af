"""Analyzers: a text becomes the terms that the keyword index counts.

Queries and passages go through the same analyzer, so only equality of terms matters, never
their looks.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field

from assay.retrievers.base.installation import read_version
from assay.retrievers.base.patterns import compile_late
from assay.retrievers.base.scripts import (
    HAN,
    HANGUL,
    KANA,
    Unspaced,
    describe_unspaced,
    find_unspaced,
)
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.settings import Settings
from assay.retrievers.text.base import Analyzer
from assay.retrievers.text.code import CodeAnalyzerSettings
from assay.retrievers.text.languages import Language, LanguageAnalyzerSettings
from assay.retrievers.text.tokens import WORDS, fold, normalise


class PlainAnalyzerSettings(Settings):
    """Folded words: lower case without diacritics, nothing dropped, stemmed or split."""

    type: Literal["plain"]

    def build(self) -> Analyzer:
        """Return the analyzer."""
        return _PlainAnalyzer()


class WordsAnalyzerSettings(Settings):
    r"""The bare tokenizer of many BM25 scripts: `\w+` of the text in lower case."""

    type: Literal["words"]

    def build(self) -> Analyzer:
        """Return the analyzer."""
        return _WordsAnalyzer()


class _PlainAnalyzer(Analyzer):
    def analyze(self, text: str) -> list[str]:
        return WORDS.findall(fold(text))


class _WordsAnalyzer(Analyzer):
    def analyze(self, text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())


Plain = Literal["plain", "words", "code"]
NAMES = (*get_args(Plain), *get_args(Unspaced), *get_args(Language))


def _expand_name(value: Any) -> Any:
    """Let a name stand for its settings: `plain`, `words`, `code`, or a language."""
    if isinstance(value, str):
        if value in get_args(Plain):
            return {"type": value}
        if value not in NAMES:
            raise ValueError(
                f"unknown analyzer {value!r}; allowed: {', '.join(get_args(Plain))}, or a "
                f"language: {', '.join((*get_args(Unspaced), *get_args(Language)))}"
                f"{suggest(value, NAMES)}"
            )
        value = {"language": value}
    if isinstance(value, dict):
        unspaced = value.get("language") in get_args(Unspaced)
        return {"type": "unspaced" if unspaced else "language"} | value
    return value


# A Thai consonant with the vowels and signs around it; none of those occurs alone.
CLUSTER = "[\u0e40-\u0e44]?[\u0e01-\u0e2e][\u0e30-\u0e3a\u0e45\u0e47-\u0e4e]*"
RUN = compile_late(f"[{HAN}{KANA}]+|[{HANGUL}]+|(?:{CLUSTER})+")
UNITS = compile_late(f"{CLUSTER}|.", re.DOTALL)
IDEOGRAPH = compile_late(f"[{HAN}]")


class UnspacedAnalyzerSettings(Settings):
    """Chinese, Japanese, Korean and Thai: pairs of neighbouring characters, single ideographs."""

    type: Literal["unspaced"]
    language: Unspaced = Field(description="language of the words; all four are read alike")

    def build(self) -> Analyzer:
        """Return the analyzer."""
        return _BigramAnalyzer()


class _BigramAnalyzer(Analyzer):
    """Pairs of characters, of clusters in Thai; an ideograph is also a term, being often a word.

    Pairs need no dictionary: every word of two characters or more shares a pair with each text that
    holds it (as Lucene's CJKBigramFilter has it). What stands between is cut into words.
    """

    def __init__(self) -> None:
        self._others = LanguageAnalyzerSettings(stop_words=False, stemming=False).build()

    def analyze(self, text: str) -> list[str]:
        return list(self._read(normalise(text)))

    def _read(self, text: str) -> Iterator[str]:
        end = 0
        for run in RUN.finditer(text):
            yield from self._others.analyze(text[end : run.start()])
            units = UNITS.findall(fold(run.group()))
            yield from (first + second for first, second in pairwise(units))
            yield from (unit for unit in units if len(units) == 1 or IDEOGRAPH.match(unit))
            end = run.end()
        yield from self._others.analyze(text[end:])


AnyAnalyzerSettings = Annotated[
    LanguageAnalyzerSettings
    | UnspacedAnalyzerSettings
    | PlainAnalyzerSettings
    | WordsAnalyzerSettings
    | CodeAnalyzerSettings,
    Field(discriminator="type"),
]
AnalyzerSettings = Annotated[
    AnyAnalyzerSettings,
    BeforeValidator(
        _expand_name, json_schema_input_type=AnyAnalyzerSettings | Plain | Unspaced | Language
    ),
]


def find_versions() -> dict[str, str]:
    """Return the libraries that decide terms, with their versions."""
    # bm25s brings the stop words.
    return {name: read_version(name) for name in ("bm25s", "PyStemmer")}


def doubt(settings: AnyAnalyzerSettings, texts: Iterable[str]) -> str:
    """Return why `settings` do not suit the script of `texts`, and what does; "" if they do."""
    if isinstance(settings, UnspacedAnalyzerSettings):  # which cuts other languages into pairs
        return ""
    found = find_unspaced(texts)
    if not found:
        return ""
    return (
        f"the analyzer {getattr(settings, 'language', settings.type)} looks for words between "
        f"blanks, and of the letters {describe_unspaced(found)}: with analyzer: "
        f"{next(iter(found))} they are found"
    )
