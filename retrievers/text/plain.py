"""Analyzers that know no language: words as they are."""

import re
from typing import Literal

from assay.retrievers.settings import Settings
from assay.retrievers.text.base import Analyzer
from assay.retrievers.text.tokens import WORDS, fold


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
