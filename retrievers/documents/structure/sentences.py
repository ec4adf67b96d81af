"""The ends of sentences, by punctuation alone."""

import re
from collections.abc import Iterator

from assay.retrievers.base.patterns import compile_late
from assay.retrievers.documents.structure.identifiers import (
    ABBREVIATED,
    LABELS,
    NAMES,
    NUMBER,
    SECTION_SHORTS,
    SECTION_WORDS,
    write_pattern,
)

# An end, closing marks, then space and a beginning; CJK ends need no space.
_END = compile_late(r"(?<![.!?…])[.!?…]+[\"'”’»)\]*_`]*\s+(?=[\"'“‘«(\[*_`§#]*[^\W_a-z])|[。！？]+")
_ABBREVIATION = compile_late(
    r"(?:\b(?:[A-Za-z]|[Ee]\.g|[Ii]\.e|[Nn]os?|[Ss]ecs?|[Aa]rts?|[Cc]hs?|[Pp]ts?|[Ff]igs?|[Vv]ol"
    r"|[Cc]f|[Vv]s?|al|seq|approx|ca|Stat|Reg|Dr|Mrs?|Ms|St|Inc|Ltd|Co|Corp|Jr|Sr)|\.[A-Za-z])\Z"
)
# The number of a list's item, section or division, with nothing before it: `2.`, `Section 13.`
_NUMBERED = compile_late(
    rf"(?:\A|[:;\n])(?:[^\w:;\n]|_)*"
    rf"(?:(?:(?:§|{write_pattern(SECTION_WORDS, SECTION_SHORTS)})\s*"
    rf"|{write_pattern(NAMES, ABBREVIATED)}\s+)(?:{NUMBER}|[IVXLC]+){LABELS}"
    rf"|\d{{1,3}}(?:\.\d{{1,3}})*{LABELS}|(?-i:[IVXLC]+|[ivx]+))\Z",
    re.I,
)
_LONGEST = 40  # characters of a number with what it is called


def sentence_ends(text: str, begin: int, end: int) -> Iterator[int]:
    """Yield the offset at which each sentence but the last ends, the space after it included.

    A number at the beginning of a line, of a sentence, or after a colon or semicolon is no
    sentence: it belongs to the words after it.
    """
    last = begin
    for match in _END.finditer(text, begin, end):
        i = match.start()
        if _ABBREVIATION.search(text, max(begin, i - 8), i):
            continue
        if not _NUMBERED.search(text[max(last, i - _LONGEST) : i]) or text[i] != ".":
            yield match.end()
        last = match.end()
