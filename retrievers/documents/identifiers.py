"""Section ids: `§ 42–3131.17`, `Section 203(a)(1)`, `Chapter 19`, `4.2 Refunds` in one spelling.

`sec_42_3131_17`, `sec_203_a_1`, `chapter_19`, `sec_4_2`. A heading without a number is named by
its words. An id says nothing of the place in the document, so that it stays when others change;
two sections of one document may share it.
"""

import re
import unicodedata

DASH = "[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]"
# One label in brackets, as in (a), (1A), (a-1), (iv), (bb).
LABEL = (
    r"\((?:\d{1,3}[A-Za-z]{0,2}|[A-Za-z]{1,2}|[ivxlc]{1,6}|[IVXLC]{1,6})"
    rf"(?:{DASH}[0-9A-Za-z]{{1,3}})?\)"
)
LABELS = rf"(?:\s?{LABEL})*"
NUMBER = rf"\d+[A-Za-z]{{0,2}}(?:(?:[.:]|\s?{DASH}\s?)\d+[A-Za-z]{{0,2}})*"
NAMES = (
    "title", "subtitle", "chapter", "subchapter", "part", "subpart", "article", "appendix",
    "annex", "schedule", "exhibit",
)  # fmt: skip

_SECTION = re.compile(rf"\s*(?:§+|sections?\b|sec\.)\s*({NUMBER}{LABELS})", re.I)
_NAMED = re.compile(
    rf"\s*({'|'.join(NAMES)})\s+({NUMBER}{LABELS}|[IVXLC]+{DASH}?[A-Z]?|[A-Z]{DASH}?\d*)"
    rf"(?=[\s.:,;)]|{DASH}|$)",
    re.I,
)
# A bare number opens a heading when it is dotted, or set off from the words that follow.
_BARE = re.compile(rf"\s*(\d+(?:\.\d+[A-Za-z]?)+{LABELS}|\d+[A-Za-z]?{LABELS}(?=[.):]|\s{DASH}\s))")


def identify(title: str) -> str:
    """Return the id of the section that `title` heads; empty where it has no word."""
    title = unicodedata.normalize("NFKC", title)
    if match := _SECTION.match(title) or _BARE.match(title):
        return join_id("sec", match[1])
    if match := _NAMED.match(title):
        return join_id(match[1], match[2])
    return join_id(title)


def split_title(title: str) -> str:
    """Return `title` without the number at its head."""
    match = _SECTION.match(title) or _BARE.match(title) or _NAMED.match(title)
    return re.sub(r"^[\W_]+", "", title[match.end() :] if match else title)


def join_id(*parts: str) -> str:
    """Return the words and numbers of `parts`, in lower case, with an underscore between two."""
    text = unicodedata.normalize("NFKC", " ".join(parts))
    # (a-1) stands beside (a), not below it.
    text = re.sub(rf"(?<=\()(\w+){DASH}(\w+)(?=\))", r"\1\2", text)
    return "_".join(re.findall(r"[^\W_]+", text.lower()))
