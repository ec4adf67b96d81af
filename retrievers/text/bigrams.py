"""The analyzer of languages whose words do not stand between blanks.

Pairs of neighbouring characters need no dictionary: every word of two characters or more shares a
pair with each text that holds it (as Lucene's CJKBigramFilter has it).
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from pydantic import Field

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


class UnspacedAnalyzerSettings(Settings):
    """Chinese, Japanese, Korean and Thai: pairs of neighbouring characters, single ideographs."""

    type: Literal["unspaced"]
    language: Unspaced = Field(description="language of the words; all four are read alike")

    def build(self) -> Analyzer:
        """Return the analyzer."""
        return _BigramAnalyzer()


class _BigramAnalyzer(Analyzer):
    """Pairs of characters, of clusters in Thai; an ideograph is also a term, being often a word.

    What stands between is cut into words.
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
