"""Texts without the differences that do not matter to a reader, and where each character stood."""

import html
import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

MARKUP = frozenset("*_`")  # Markdown's marks that a rendered page does not show
SINGLE_QUOTES = frozenset("‘’‚‛′´`ʼ‹›＇")
DOUBLE_QUOTES = frozenset("“”„‟″«»＂")
RUNS = (" ", "-")  # of these any number in a row counts as one
POINTS = frozenset(".,;:!?()[]\"'")  # between digits they tell one number from another
# What a rendered page shows otherwise, or not at all; the first that fits counts.
DECORATION = re.compile(
    r"""
    (?P<fence> ^[ \t]*(?:```|~~~).*$)
    | (?P<rule> ^[ \t]*+\|?+[ \t]*+(?>(?::?+-{2,}+:?+[ \t]*+\|?+[ \t]*+)+)$)
    | (?P<lead> ^[ \t]*(?:(?:[>+•‣▪◦·‐-―*-](?=\s)|>|\#{1,6}(?=\s))[ \t]*)+(?:\[[ xX]\][ \t])?)
    | (?P<entity> &(?:\#\d+|\#x[0-9a-fA-F]+|[a-zA-Z]+);)
    | (?P<escape> \\(?=[!-/:-@\[-`{-~]))
    | (?P<target> (?<=\])(?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+"[^"]*")?\)|\[[^\]\s]*\]))
    | (?P<note> \[\^[^\[\]\s]+\])
    | (?P<opening> !?\[(?=[^\[\]]*\](?:\(|\[)))
    | (?P<closing> (?<!\s)\](?=\(|\[[^\]\s]*\]))
    | (?P<inline> </?(?:a|b|i|u|s|em|strong|sub|sup|span|code|kbd|mark)(?:\s[^<>]*)?>)
    | (?P<tag> </?[a-zA-Z][^<>]*>|<!--(?:[^<\n]|<(?!!--))*?-->)
    | (?P<hyphen> (?<=[^\W\d_])[\u00ad‐‑-][ \t]*(?:\r?\n[ \t]*)?(?=[^\W\d_]))
    | (?P<bullet> [•‣▪◦|]|(?<!\S)[-–—](?=\s))
    | (?P<strike> ~~)
    """,
    re.VERBOSE | re.MULTILINE,
)
NUMBER = re.compile(
    r"^(?:[ \t]|>)*(?:\#{1,6}[ \t]+)?(?:[*-][ \t]+)?[*_]{0,2}\(?"
    r"(\d{1,3}(?:\.\d{1,3})*[.)]?|[A-Za-z][.)]|[ivxIVX]{1,5}[.)])[*_]{0,2}(?=[ \t])",
    re.MULTILINE,
)
SPACED = ("fence", "rule", "lead", "tag", "bullet")  # these part the words around them

Piece = tuple[str, int, int]  # a character, and where in the original it starts and ends


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text without the differences that do not matter, and for each of its characters where in
    the original it starts and ends.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


def fold(text: str, *, markup: bool = True) -> FoldedText:
    """Fold case, compatibility forms, and kinds of white space, dashes and quotation marks.

    Runs of white space and of dashes become one character; invisible characters go, and without
    `markup` so do Markdown's emphasis and code marks.
    """
    return _join((char, i, i + 1) for i, char in enumerate(text) if markup or char not in MARKUP)


def render(text: str, *, numbers: bool, points: bool) -> FoldedText:
    """Fold a text, and leave out what a rendered page does not show or breaks otherwise: pipes and
    rules of tables, bullets, headings' and quotations' marks, targets of links, tags, and hyphens
    within words. Without `numbers` those at the head of a line go, and without `points` all
    punctuation but that within numbers.
    """
    found = _join(_strip(text, numbers))
    return found if points else _drop_points(found)


def _strip(text: str, numbers: bool) -> Iterator[Piece]:
    cuts: dict[int, tuple[int, str]] = {}
    for match in DECORATION.finditer(text):
        kind = str(match.lastgroup)
        instead = " " if kind in SPACED else ""
        cuts[match.start()] = (
            match.end(),
            html.unescape(match[0]) if kind == "entity" else instead,
        )
    if not numbers:
        for match in NUMBER.finditer(text):
            cuts[match.start()] = (max(match.end(), cuts.get(match.start(), (0, ""))[0]), " ")
    i = 0
    while i < len(text):
        end, instead = cuts.get(i, (i + 1, "" if text[i] in MARKUP else text[i]))
        yield from ((char, i, end) for char in instead)
        i = end


def _join(pieces: Iterable[Piece]) -> FoldedText:
    found: list[str] = []
    starts, ends = array("Q"), array("Q")
    last = ""
    for char, start, end in pieces:
        folded = _fold_character(char)
        if not folded:
            continue
        if folded == last and folded in RUNS:
            ends[-1] = end
            continue
        last = folded
        found.append(folded)
        for _ in folded:
            starts.append(start)
            ends.append(end)
    return FoldedText("".join(found), starts, ends)


def _drop_points(folded: FoldedText) -> FoldedText:
    text = folded.text
    return _join(
        (
            " " if char in POINTS and not text[max(i - 1, 0) : i + 2 : 2].isdigit() else char,
            folded.starts[i],
            folded.ends[i],
        )
        for i, char in enumerate(text)
    )


@cache
def _fold_character(char: str) -> str:
    if char in SINGLE_QUOTES:
        return "'"
    if char in DOUBLE_QUOTES:
        return '"'
    if char.isspace():
        return " "
    category = unicodedata.category(char)
    if category == "Pd" or char == "−":
        return "-"
    if category == "Cf" or char == "\xad":
        return ""
    return unicodedata.normalize("NFKD", char).casefold()
