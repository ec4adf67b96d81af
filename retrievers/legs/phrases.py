"""Quoted phrases: “…” in a query must stand literally in a chunk."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrievers.text.analyzers import fold

_QUOTED = re.compile(r"(?<![^\W_])(?:\"([^\"]+)\"|[“„”]([^“”„\"]+)[”“]|«([^«»]+)»)(?![^\W_])")
# Quotation marks and the marks of Markdown are no part of what a person sees or types.
_MARKS = str.maketrans("", "", '"“”„‟«»*`')
# Scripts without spaces: each character is a word.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_LETTER = re.compile(rf"[^\W_{_UNSPACED}]")


@dataclass(frozen=True, slots=True)
class Match:
    """A chunk that holds `phrases` of the quoted phrases, the first of them at `offset`."""

    position: int
    phrases: int
    offset: int


class PhraseIndex:
    """Texts without distinctions of case, width, spaces, dashes and quotes, and their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [_normalise(text) for text in texts]
        holders: dict[str, list[int]] = defaultdict(list)
        for position, text in enumerate(self._texts):
            for word in set(_WORD.findall(text)):
                holders[word].append(position)
        self._holders = {word: np.array(held, np.int32) for word, held in holders.items()}

    @property
    def bytes(self) -> int:
        """The size of the texts, in characters, and of the lists of positions."""
        return sum(map(len, self._texts)) + sum(held.nbytes for held in self._holders.values())

    def find(self, phrases: Sequence[str]) -> list[Match]:
        """Return the chunks that hold at least one of `phrases`.

        Those with the most phrases come first, then where one begins earliest, then the shortest.
        """
        offsets: dict[int, list[int]] = defaultdict(list)
        for phrase in phrases:
            for position in map(int, self._hold_all(set(_WORD.findall(phrase)))):
                if (at := _find(self._texts[position], phrase)) >= 0:
                    offsets[position].append(at)
        matches = [Match(position, len(at), min(at)) for position, at in offsets.items()]
        return sorted(
            matches,
            key=lambda match: (
                -match.phrases, match.offset, len(self._texts[match.position]), match.position
            ),
        )  # fmt: skip

    def _hold_all(self, words: set[str]) -> NDArray[np.int32]:
        """Return the positions of the chunks that have every word."""
        none = np.empty(0, np.int32)
        held = sorted((self._holders.get(word, none) for word in words), key=len)
        found = held[0]
        for other in held[1:]:
            found = found[np.isin(found, other, assume_unique=True)]
        return found


def read_phrases(query: str) -> list[str]:
    """Return the quoted phrases of `query` that have a word, as the index spells them."""
    quoted = [next(filter(None, match)) for match in _QUOTED.findall(query)]
    phrases = [_normalise(phrase).strip(" ,.;:?!") for phrase in quoted]
    return list(dict.fromkeys(phrase for phrase in phrases if _WORD.search(phrase)))


def _find(text: str, phrase: str) -> int:
    """Return where `phrase` stands in `text` as words of its own; -1 where it does not."""
    at = text.find(phrase)
    while at >= 0 and not (
        _ends_word(text[max(at - 1, 0) : at + 1])
        and _ends_word(text[at + len(phrase) - 1 : at + len(phrase) + 1])
    ):
        at = text.find(phrase, at + 1)
    return at


def _ends_word(pair: str) -> bool:
    """Say whether no word goes on over two neighbouring characters, or one at an end of a text."""
    return len(pair) < 2 or not all(map(_LETTER.match, pair))


def _normalise(text: str) -> str:
    return re.sub(r"\s+", " ", fold(text).translate(_MARKS))
