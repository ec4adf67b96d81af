"""Section ids: `§ 42–3131.17`, `Section 203(a)(1)`, `Chapter 19`, `4.2 Refunds` in one spelling.

`sec_42_3131_17`, `sec_203_a_1`, `chapter_19`, `sec_4_2`. A heading without a number is named by
its words; `counted_headings` decides whether the bare number of `3 Mounting` is one. An id does not
depend on the place in the document, so that it stays if others change; two sections of one document
may share it.
"""

import re
import unicodedata
from collections.abc import Iterable

from assay.retrievers.base.patterns import compile_late
from assay.retrievers.documents.structure.citation_styles import FORMS
from assay.retrievers.documents.structure.numerals import WORD, write_digits

DASH = "[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]"
# One label in brackets, as in (a), (1A), (a-1), (iv), (bb).
LABEL = (
    r"\((?:\d{1,3}[A-Za-z]{0,2}|[A-Za-z]{1,2}|[ivxlc]{1,6}|[IVXLC]{1,6})"
    rf"(?:{DASH}[0-9A-Za-z]{{1,3}})?\)"
)
LABELS = rf"(?:\s?{LABEL})*"
# The number of a place inserted later, as in 14bis; a space may precede the suffix.
_SUFFIX = rf"(?:{'|'.join(FORMS.suffixes)})"
_DIGITS = rf"\d+(?:\s?{_SUFFIX}\b|[A-Za-z]{{0,2}})"
NUMBER = rf"{_DIGITS}(?:(?:[.:]|\s?{DASH}\s?){_DIGITS})*"
# One sign or several. A search that fails at the first of them is not made again at each other.
SIGNS = "(?<!§)§+"
_DIVISIONS, _SECTIONS = FORMS.list_words("division"), FORMS.list_words("section")
NAMES = tuple(_DIVISIONS)
COMMON = frozenset(form.word for form in FORMS.forms if form.common)
# The division that each abbreviation stands for.
ABBREVIATED = {short: name for name, shorts in _DIVISIONS.items() for short in shorts}


def write_pattern(words: Iterable[str], abbreviations: Iterable[str], stop: str = r"\.") -> str:
    """Return a pattern of any of `words`, or of `abbreviations` with `stop` after them."""
    longest_first = sorted(words, key=len, reverse=True)
    shortened = rf"(?:{'|'.join(sorted(abbreviations, key=len, reverse=True))}){stop}"
    return rf"(?:{'|'.join((*longest_first, shortened))})"


SECTION_WORDS = tuple(_SECTIONS)
SECTION_SHORTS = tuple(short for shorts in _SECTIONS.values() for short in shorts)
_SECTION = compile_late(
    rf"\s*(?:§+|sections\b|{write_pattern(SECTION_WORDS, SECTION_SHORTS)})\s*"
    rf"({NUMBER}{LABELS}|(?<=\s){WORD}|(?<=\s)(?-i:[IVXLC]+|[A-Z])(?=[.:,;)]|\s{DASH}|\s*$))"
    rf"(?!\w|/\d)",
    re.I,
)
_NAMED = compile_late(
    rf"\s*({write_pattern(NAMES, ABBREVIATED)})\s+"
    rf"({NUMBER}{LABELS}|{WORD}|[IVXLC]+{DASH}?[A-Z]?|[A-Z]{DASH}?\d*)(?=[\s.:,;)]|{DASH}|$)",
    re.I,
)
# A bare number opens a heading when it is dotted, or set off from the words that follow.
_BARE = compile_late(
    rf"\s*(\d+(?:\.\d+[A-Za-z]?)+{LABELS}|\d+[A-Za-z]?{LABELS}(?=[.):]|\s{DASH}\s))"
)

# 3 Mounting, (3) Duties, IV Results, IV. Results: numbers, if others count on.
COUNTED = compile_late(
    rf"\s*(?P<open>\()?(?P<number>\d{{1,3}}|[IVXLC]{{1,7}})(?(open)\))(?P<stop>[.):]|\s{DASH})?\s+"
    r"(?P<rest>\S.*)"
)


def identify(title: str) -> str:
    """Return the id of the section that `title` heads; "" if it has no word."""
    title = unicodedata.normalize("NFKC", title)
    if match := _SECTION.match(title) or _BARE.match(title):
        return join_id("sec", write_digits(match[1]))
    if match := _NAMED.match(title):
        return join_id(name_division(match[1]), write_digits(match[2]))
    return join_id(title)


def split_title(title: str, id_: str = "") -> str:
    """Return `title` without the number at its head, a bare one where `id_` has it, too."""
    match = _SECTION.match(title) or _BARE.match(title) or _NAMED.match(title)
    if match is None and (counted := COUNTED.match(title)):
        is_number = id_.rpartition("_")[2] == join_id(counted["number"])
        return counted["rest"] if is_number else title
    return re.sub(r"^[\W_]+", "", title[match.end() :] if match else title)


def name_division(word: str) -> str:
    """Return the name of the division that `word` or abbreviation, with its stop, stands for."""
    word = word.lower().rstrip(".")
    return ABBREVIATED.get(word, word)


def find_division(words: str) -> str:
    """Return the division that “Arts.”, “Titles” or “partsno.” stands for; "" for none."""
    word = re.sub(r"nos?\Z", "", re.split(r"[\s.]", words.lower())[0])
    names = map(name_division, (word, word.removesuffix("s"), word.removesuffix("es")))
    return next((name for name in names if name in NAMES), "")


def join_id(*parts: str) -> str:
    """Return the words and numbers of `parts`, in lower case, with an underscore between two."""
    text = unicodedata.normalize("NFKC", " ".join(parts))
    # (a-1) is a sibling of (a), not below it.
    text = re.sub(rf"(?<=\()(\w+){DASH}(\w+)(?=\))", r"\1\2", text)
    text = re.sub(rf"(?<=\d)\s(?={_SUFFIX}\b)", "", text.lower())
    return "_".join(re.findall(r"[^\W_]+", text))
