"""The analyzer of source code."""

from collections.abc import Iterator
from itertools import chain
from typing import Literal

from assay.retrievers.settings import Settings
from assay.retrievers.text.base import Analyzer
from assay.retrievers.text.tokens import CODE, LONGEST_SPLIT, Memo, fold, normalise, split_name


class CodeAnalyzerSettings(Settings):
    """Names of source code, whole and split; operators; nothing dropped or stemmed."""

    type: Literal["code"] = "code"

    def build(self) -> "CodeAnalyzer":
        """Return the analyzer."""
        return CodeAnalyzer()


class CodeAnalyzer(Analyzer):
    """Keeps every name whole, without distinction of case, and adds the parts it is made of."""

    def __init__(self) -> None:
        self._memo = Memo(self._terms)

    def analyze(self, text: str) -> list[str]:
        """Return the tokens of `text`, each followed by its parts."""
        return list(chain.from_iterable(self._read(text)))

    def find_tokens(self, text: str) -> dict[str, bool]:
        """Return each token of `text` as a term, and whether it is a name of several parts."""
        return {whole: bool(parts) for whole, *parts in self._read(text)}

    def _read(self, text: str) -> Iterator[tuple[str, ...]]:
        return map(self._memo.__getitem__, CODE.findall(normalise(text)))

    def _terms(self, token: str) -> tuple[str, ...]:
        if token[-1] in "+#" or len(token) > LONGEST_SPLIT:
            return (fold(token),)
        parts = split_name(token)
        return (fold(token), *(fold(part) for part in parts if part != token))
