"""Where words of one text of a document stand in another, such as two conversions of one file."""

import re
from bisect import bisect_left
from difflib import SequenceMatcher

WORD = re.compile(r"\w+")
WIDEST_GAP = 20  # words that only the other text has, beyond which a passage there is in two parts


class Alignment:
    """Places spans of `text` in `other`, word by word and in the order of both."""

    def __init__(self, text: str, other: str) -> None:
        self._same = text == other
        self._starts = [match.start() for match in WORD.finditer(text)]
        self._spans = [match.span() for match in WORD.finditer(other)]
        self._places = {} if self._same else _match(text, other)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where characters `start` to `end` of the one text stand in the other.

        Words that are not there are passed over. Where the other has more than 20 words between
        two of them, the part with the most words counts; where it has none, the span is empty.
        """
        if self._same:
            return start, end
        words = range(bisect_left(self._starts, start), bisect_left(self._starts, end))
        parts: list[list[int]] = []
        for place in (self._places[word] for word in words if word in self._places):
            if not parts or place - parts[-1][-1] > WIDEST_GAP:
                parts.append([])
            parts[-1].append(place)
        if not parts:
            return 0, 0
        longest = max(parts, key=len)
        return self._spans[longest[0]][0], self._spans[longest[-1]][1]


def _match(text: str, other: str) -> dict[int, int]:
    """Return the place in `other` of each word of `text` that it shares, both counted in words."""
    matcher = SequenceMatcher(None, _list_words(text), _list_words(other))
    return {
        block.a + i: block.b + i
        for block in matcher.get_matching_blocks()
        for i in range(block.size)
    }


def _list_words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]
