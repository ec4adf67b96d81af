"""Quoted phrases: “…” in a query must stand literally in a chunk. A lone name is as quoted."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.retrievers.text.tokens import fold

_QUOTED = re.compile(r"(?<![^\W_])(?:\"([^\"]+)\"|[“„”]([^“”„\"]+)[”“]|«([^«»]+)»)(?![^\W_])")
# Quotation marks and the marks of Markdown are no part of what a person sees or types.
_MARKS = str.maketrans("", "", '"“”„‟«»*`')
# Scripts without spaces: each character is a word.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_LETTER = re.compile(rf"[^\W_{_UNSPACED}]")
_JOINED = re.compile(r"\w")
# getAuthToken, max_retries, GV-200, client.getToken: one word of several parts, with a letter.
_NAME = re.compile(r"(?=.*[^\W\d_])\w+(?:[-.:/]+\w+)*")
_PARTS = re.compile(r"\w_\w|[^\W\d_]\W?\d|\d\W?[^\W\d_]|[a-z][A-Z]")


@dataclass(frozen=True, slots=True)
class Match:
    """A chunk that holds `phrases` of the quoted phrases, the first of them at `offset`."""

    position: int
    phrases: int
    offset: int


class PhraseIndex:
    """Texts without distinctions of case, width, spaces, dashes and quotes, and their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [normalise(text) for text in texts]
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
            # An underscore is part of a name, but a separator next to a phrase.
            inside = _JOINED if "_" in phrase else _LETTER
            for position in map(int, self._hold_all(set(_WORD.findall(phrase)))):
                if (i := _find(self._texts[position], phrase, inside)) >= 0:
                    offsets[position].append(i)
        matches = [Match(position, len(i), min(i)) for position, i in offsets.items()]
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
    phrases = [normalise(phrase).strip(" ,.;:?!") for phrase in quoted]
    return list(dict.fromkeys(phrase for phrase in phrases if _WORD.search(phrase)))


def read_name(query: str) -> str:
    """Return `query`, as the index spells it, where it is one name of several parts; else nothing.

    The brackets of a call are no part of the name.
    """
    return next(map(normalise, _find_names([query])), "")


def read_names(query: str) -> list[str]:
    """Return the names in `query`, as typed: the whole query, or the names that it quotes."""
    return _find_names([query, *(next(filter(None, match)) for match in _QUOTED.findall(query))])


def stands_in(text: str, name: str) -> bool:
    """Return True if `text` has `name` as a separate word, in the same case."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _find_names(texts: Sequence[str]) -> list[str]:
    bare = (text.strip(" \t\r\n`,;?!").removesuffix("()") for text in texts)
    return [text for text in bare if _NAME.fullmatch(text) and _PARTS.search(text)]


def _find(text: str, phrase: str, inside: re.Pattern[str]) -> int:
    """Return the offset of `phrase` in `text` as separate words; -1 if it is not there.

    `inside` matches the characters that words are made of.
    """

    def ends_word(pair: str) -> bool:
        """Return True if no word spans the two characters, or one is at an end of the text."""
        return len(pair) < 2 or not all(map(inside.match, pair))

    i = text.find(phrase)
    while i >= 0 and not (
        ends_word(text[max(i - 1, 0) : i + 1])
        and ends_word(text[i + len(phrase) - 1 : i + len(phrase) + 1])
    ):
        i = text.find(phrase, i + 1)
    return i


def normalise(text: str) -> str:
    """Return `text` without distinctions of case, width, spaces, dashes, quotes and emphasis."""
    return re.sub(r"\s+", " ", fold(text).translate(_MARKS))
