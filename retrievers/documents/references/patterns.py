"""The patterns by which cross-references are found in a text."""

import re

from assay.retrievers.base.patterns import compile_late
from assay.retrievers.documents.structure.citation_styles import FORMS
from assay.retrievers.documents.structure.identifiers import (
    ABBREVIATED,
    DASH,
    LABEL,
    LABELS,
    NAMES,
    NUMBER,
    SECTION_SHORTS,
    SECTION_WORDS,
    SIGNS,
    write_pattern,
)

# The names of the levels of numbered paragraphs in statutes, and the style of their labels.
LEVELS = {"subsection": "letter", "paragraph": "digit", "subparagraph": "capital",
           "clause": "roman", "subclause": "Roman"}  # fmt: skip
ORDER = ("letter", "digit", "capital", "roman", "Roman", "double")
_LEVEL = rf"(?:sub-){{0,9}}(?:{'|'.join(sorted(LEVELS, key=len, reverse=True))})"
_NAME = rf"(?:{'|'.join(NAMES)})"
_DIVIDES = write_pattern((f"{name}s?" for name in NAMES), ABBREVIATED)
# The first characters of matches: a search skips places where none can begin, which are most.
_AT_DIVIDES = f"(?=(?i:[{''.join(sorted({name[0] for name in (*NAMES, *ABBREVIATED)}))}]))"
_AT_SIGN = rf"(?=[§\d{''.join(sorted({word[0] for word in (*SECTION_WORDS, *SECTION_SHORTS)}))}])"
# s. 12 and ss. 3-5; S. 12 is a page in German.
_SIGN = (
    rf"(?:{SIGNS}|\b{write_pattern((f'{word}s?' for word in SECTION_WORDS), SECTION_SHORTS)}"
    r"|(?<![\w.])(?-i:ss?\.))"
)
# The Drought Regulations 2022 are a law.
_NO_TITLE = r"(?!(?-i:Rules|Regulations)\s+(?:1[89]|20)\d\d\b)"
# U.S.C., U. S. C. and USC.
_CODES = (code.replace(".", r"\.?\s?").removesuffix(r"\s?") for code in FORMS.codes)
_CODE = rf"\b\d{{1,3}}\s+(?:{'|'.join(sorted(_CODES, key=len, reverse=True))})\s*(?:App\.\s*)?"
_AND = r"\s*(?:,\s*(?:(?:and|or)\s+)?|(?:and/or|and|or)\s+|&\s*)"
_ACT = r"(?:Act|Code|Laws?|Statutes?|Regulations?|Amendments?|Constitution|Order)"

# § 4.2(a), §§ 801 through 804 and 811, 42 U.S.C. § 1437f
NUMBERED = compile_late(
    rf"{_AT_SIGN}(?P<code>{_CODE})?{_NO_TITLE}{_SIGN}\s*(?P<number>{NUMBER})(?P<labels>{LABELS})"
    r"(?!\w|/\d)",
    re.I,
)
NEXT_NUMBER = compile_late(rf"{_AND}(?P<number>{NUMBER})(?P<labels>{LABELS})(?![\w%])", re.I)
# subsection (a), paragraphs (1) and (2)(A)
LABELLED = compile_late(rf"\b(?P<level>{_LEVEL})s?\s+(?P<labels>{LABEL}{LABELS})", re.I)
NEXT_LABELS = compile_late(rf"{_AND}(?P<labels>{LABEL}{LABELS})")
# Chapter 18, subchapters IV and V, Appendix B, Art. 12(3), Article 14 bis
_SUFFIXED = rf"\d+\s?(?:{'|'.join(FORMS.suffixes)})"
_DIVISION = (
    rf"(?P<number>{_SUFFIXED}|\d+[A-Z]?(?:-[A-Z])?|[IVXLC]+(?:{DASH}?[A-Z])?|[A-Z])(?![\w’']|/\d)"
    rf"(?P<labels>{LABELS})"
)
NAMED = compile_late(
    rf"\b{_AT_DIVIDES}{_NO_TITLE}(?P<name>(?i:{_DIVIDES}))\s*(?<=[\s.]){_DIVISION}"
)
NEXT_DIVISION = compile_late(rf"{_AND}{_DIVISION}")
RANGE = compile_late(
    rf"\s*(?:through|to|–|—)\s*(?P<again>{_SIGN}\s*|{_DIVIDES}\s+)?"
    rf"(?:(?P<number>{NUMBER}|(?-i:[IVXLC]+)\b){LABELS}|{LABEL}{LABELS})",
    re.I,
)
# 42-3502.10 and 4.2 with no sign before them
BARE = compile_late(
    r"\b(?:see|under|to|by|in|with|of)\s+"
    rf"(?P<number>\d+[A-Za-z]?(?:\.|{DASH}){NUMBER})(?P<labels>{LABELS})(?![\w%])",
    re.I,
)
BY_TITLE = compile_late(
    r"\b(?:see(?:\s+also)?|(?:as\s+)?(?:defined|described|explained|set\s+out)\s+(?:in|under)"
    r"|refer\s+to|pursuant\s+to)\s+(?:the\s+section\s+(?:on\s+)?)?[\"“*_`]*(?=[^\W\d_])",
    re.I,
)
DEEPEST = 5  # subclause of clause of subparagraph of paragraph of subsection of section
THIS = compile_late(rf"\s+of\s+this\s+(?P<unit>section|{_LEVEL}|{_NAME}|act)\b", re.I)
OF = compile_late(r"\s+of\s+")
OF_DOCUMENT = compile_late(
    r"\s+(?:of|in)\s+(?:(?:the|our|your)\s+)?"
    r"(?:\[\[(?P<wiki>[^\[\]|#\n]+)|\[[^\[\]\n]*\]\((?P<href>[^()#\s]+))"
)
OTHER_LAW = compile_late(
    rf"\s+of\s+(?:the|title)\s+(?P<law>[A-Z][^.;()\n]{{0,120}}?\b{_ACT}\b(?:\s+(?:of\s+)?\d{{4}}\b)?)"
)
# para. 1 lit. f after Art. 6; paragraph 4 after Schedule 2
BELOW = compile_late(
    r"\s*+(?:,\s*+)?\b(?:paras?\b\.?|paragraphs?|points?|lit\.)\s*"
    rf"(?P<label>\d{{1,3}}[A-Za-z]?|\(?[a-z]\)?)(?P<labels>{LABELS})(?![\w%])",
    re.I,
)
# Divisions whose paragraphs are numbered, and hold no sections.
PARAGRAPHED = ("article", "schedule", "annex", "appendix", "exhibit", "regulation", "note")
PARAGRAPH = compile_late(r"para", re.I)
LINKED = compile_late(r"\[(?P<text>[^\[\]\n]*)\]\((?P<href>[^()#\s]+)")
