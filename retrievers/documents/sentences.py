"""Where sentences end, by punctuation alone."""

import re
from collections.abc import Iterator

# An end, closing marks, then space and a beginning; CJK ends need no space.
_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’»)\]*_`]*\s+(?=[\"'“‘«(\[*_`§#]*[^\W_a-z])|[。！？]+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|[Ee]\.g|[Ii]\.e|[Nn]os?|[Ss]ecs?|[Aa]rts?|[Cc]hs?|[Pp]ts?|[Ff]igs?|[Vv]ol"
    r"|[Cc]f|[Vv]s?|al|seq|approx|ca|Stat|Reg|Dr|Mrs?|Ms|St|Inc|Ltd|Co|Corp|Jr|Sr)|\.[A-Za-z])\Z"
)


def sentence_ends(text: str, begin: int, end: int) -> Iterator[int]:
    """Yield the offset at which each sentence but the last ends, the space after it included."""
    for match in _END.finditer(text, begin, end):
        if not _ABBREVIATION.search(text, max(begin, match.start() - 8), match.start()):
            yield match.end()
