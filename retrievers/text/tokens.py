"""The words, names and tokens of a text, and their normalisation."""

import re
import unicodedata
from collections.abc import Callable

from assay.retrievers.base.patterns import compile_late

# Diacritics, but not the vowel signs of Indic scripts or the voicing marks of kana.
DIACRITICS = compile_late("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
# Letters that keyboards without them write as others, and that Unicode does not take apart.
LETTERS = str.maketrans({
    "ł": "l", "ø": "o", "đ": "d", "ð": "d", "œ": "oe", "æ": "ae", "ß": "ss", "þ": "th", "ħ": "h",
    "ŧ": "t", "ı": "i",
})  # fmt: skip
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
WORDS = compile_late(WORD)
# A word, or several with what joins the parts of a name: parse_json, GV-200, v2.3.1, std::vec,
# 203(a)(1), 42 - 3131.17.
JOINED = compile_late(
    rf"(?:(?<!_)_+)?{WORD}(?:(?:_+|[-.']|::|(?<=\d) ?- ?(?=\d)){WORD})*_*"
    r"(?:(?<=\d)(?: ?\((?:[A-Za-z]{1,2}|\d{1,3}|[ivxIVX]{1,5})\))+)?"
)
# C++, ->, parse_json: names whole, operators of several characters, languages with marks.
CODE = compile_late(
    rf"(?<!\w)(?:[CG]\+\+|[CFJ]\#)(?![^\W\d])|(?:(?<!_)_+)?{WORD}(?:_+{WORD})*_*"
    r"|::|->|=>|&&|\|\||[=!<>]=",
    re.IGNORECASE,
)
MEMBERS = compile_late(rf"(?:(?<!_)_+)?{WORD}(?:_+{WORD})*_*")
# HTTPServer2 is HTTP, Server, 2; RNAs is one word.
HUMPS = compile_late(r"[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+|\d+")
LETTERS_OR_DIGITS = compile_late(r"[^\d_]+|\d+")

LONGEST_SPLIT = 80  # characters; beyond, it is data rather than a name
MEMO_SIZE = 1 << 18


def fold(text: str) -> str:
    """Return `text` without distinctions of case, diacritics, width, dashes and apostrophes.

    Letters as ł and œ become those that are written where a keyboard lacks them.
    """
    if text.isascii():
        return text.lower()
    plain = DIACRITICS.sub("", unicodedata.normalize("NFKD", text).translate(PUNCTUATION))
    return unicodedata.normalize("NFC", plain.casefold().translate(LETTERS))


def normalise(text: str) -> str:
    """Return `text` without distinctions of width, dashes and apostrophes."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(PUNCTUATION)


def split_name(name: str) -> list[str]:
    """Return the parts of a name: get, User, By, Id."""
    return (HUMPS if name.isascii() else LETTERS_OR_DIGITS).findall(name)


class Memo(dict[str, tuple[str, ...]]):
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
