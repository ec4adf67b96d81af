"""The tokens of a document, read once, so that the length of any span is a look-up."""

from bisect import bisect_left
from collections.abc import Callable, Sequence

# The start and end of each token of a text, in code points.
Tokenize = Callable[[str], Sequence[tuple[int, int]]]
BLANKS = frozenset(" \t\n\r")


class WhitespaceTokenizer:
    """A `Tokenize` that first splits words at whitespace: a text has the tokens of its words,
    whatever precedes or follows them.
    """

    def __init__(self, tokenize: Tokenize) -> None:
        self._tokenize = tokenize

    def __call__(self, text: str) -> Sequence[tuple[int, int]]:
        """Return the start and end of each token."""
        return self._tokenize(text)


class TokenMap:
    """The starts of the tokens of a text.

    With `WhitespaceTokenizer`, a span that begins and ends next to whitespace has as many tokens as
    begin within it. Otherwise the text of the span is tokenized by itself, because a cut within a
    word changes its tokens.
    """

    def __init__(self, text: str, tokenize: Tokenize) -> None:
        self._text = text
        self._tokenize = tokenize
        self._at_blanks = isinstance(tokenize, WhitespaceTokenizer)
        self._starts = [start for start, _ in tokenize(text)]

    def estimate(self, begin: int, end: int) -> int:
        """Return the number of tokens that begin from `begin` to `end`."""
        return bisect_left(self._starts, end) - bisect_left(self._starts, begin)

    def count(self, begin: int, end: int) -> int:
        """Return the number of tokens of the text from `begin` to `end`, read by itself."""
        if self._at_blanks and self._is_parted(begin) and self._is_parted(end):
            return self.estimate(begin, end)
        return len(self._tokenize(self._text[begin:end]))

    def _is_parted(self, place: int) -> bool:
        """Return True if no word continues at `place`."""
        beside = self._text[max(place - 1, 0) : place + 1]
        return len(beside) < 2 or not BLANKS.isdisjoint(beside)

    def reach(self, begin: int, tokens: int) -> int:
        """Return the furthest offset up to which at most `tokens` tokens begin from `begin`."""
        number = bisect_left(self._starts, begin) + tokens
        return self._starts[number] if number < len(self._starts) else len(self._text)

    def back(self, end: int, tokens: int) -> int:
        """Return the offset from which at most `tokens` tokens begin before `end`."""
        number = max(bisect_left(self._starts, end) - tokens, 0)
        return self._starts[number] if number < len(self._starts) else end
