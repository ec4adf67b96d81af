"""Texts without the differences that do not matter to a reader, and where each character stood."""

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.retrievers.base.page import PagePart

SINGLE_QUOTES = frozenset("‘’‚‛′´`ʼ‹›＇")
DOUBLE_QUOTES = frozenset("“”„‟″«»＂")
RUNS = (re.compile("  +"), re.compile("--+"))  # any number in a row counts as one
MARKUP = re.compile(r"[*_`]+")  # Markdown's marks that a rendered page does not show
# Between digits they tell one number from another.
POINTS = re.compile(r"""[.,;:!?()\[\]"'*_`](?:(?<!\d.)|(?!\d))""")
# What stands for itself, or within a word, in some renderings of a page and is missing in others.
# The first character is looked for first, which is ten times as fast.
ORNAMENTS = re.compile(
    r"""
    [\u00ad‐-―:|\[·•‣▪◦-](?:
        (?P<hyphen> (?<=[^\W\d_][\u00ad‐‑-])[ \t]*(?:\r?\n[ \t]*)?(?=[^\W\d_]))
        | (?<!\S\[)(?<=\[)[ xX]\](?=\s)
        | (?<!\S[:|‐-―-])(?:(?<=[|‐-―-])|(?<=:):*[|‐-―-])[:|‐-―-]*(?!\S)
        | (?<!\S·)(?<=·)(?!\S)
        | (?<=[•‣▪◦|])
    )
    """,
    re.VERBOSE,
)
NUMBER = re.compile(
    r"^(?:[ \t]|>)*(?:\#{1,6}[ \t]+)?(?:[*-][ \t]+)?[*_]{0,2}\(?"
    r"(\d{1,3}(?:\.\d{1,3})*[.)]?|[A-Za-z][.)]|[ivxIVX]{1,5}[.)])[*_]{0,2}(?=[ \t])",
    re.MULTILINE,
)
Places = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True)
class FoldedText:
    """A text without the differences that do not matter.

    `trace` returns the start and end in the original of each of its characters.
    """

    text: str
    trace: Callable[[], Places]

    @cached_property
    def starts(self) -> Sequence[int]:
        """The start of each character in the original."""
        return self._places[0]

    @cached_property
    def ends(self) -> Sequence[int]:
        """The end of each character in the original."""
        return self._places[1]

    @cached_property
    def _places(self) -> Places:
        return self.trace()  # slow, and not needed for most texts


@dataclass(frozen=True, slots=True)
class Reading:
    """A way to read a page: the kinds of parts that are read, whether with the `numbers` that
    begin its lines, and whether with `points`, all punctuation but that within numbers.
    """

    kinds: frozenset[str]
    numbers: bool
    points: bool


# As CommonMark has it, then by renderers that know more, with the numbers of lists, without any.
READINGS = tuple(
    Reading(frozenset({"text", *kinds, *markers}), numbers, points)
    for points in (True, False)
    for markers, numbers in (((), True), (("marker",), True), ((), False))
    for kinds in (
        ("mark", "gap"),
        ("mark",),
        ("value", "gap"),
        ("value", "gap", "number"),
        ("value", "gap", "bracketed"),
        ("value", "gap", "bracketed", "alt"),
    )
)


def fold(text: str, *, markup: bool = True) -> FoldedText:
    """Fold case, compatibility forms, and kinds of white space, dashes and quotation marks.

    Runs of white space and of dashes become one character; invisible characters go, and without
    `markup` so do Markdown's emphasis and code marks.
    """
    whole = FoldedText(text, lambda: (range(len(text)), range(1, len(text) + 1)))
    return _fold(whole if markup else _replace(whole, MARKUP, lambda _: ""))


def fold_page(parts: Iterable["PagePart"], kinds: frozenset[str], *, numbers: bool) -> FoldedText:
    """Fold the parts of a page that are of these `kinds`.

    Bullets, pipes and hyphens within words are left out, and without `numbers` those that begin a
    line.
    """
    page = _join([part for part in parts if part.kind in kinds])
    page = page if numbers else _replace(page, NUMBER, lambda _: " ")
    return _fold(
        _replace(page, ORNAMENTS, lambda match: "" if match["hyphen"] is not None else " ")
    )


def drop_points(folded: FoldedText) -> FoldedText:
    """Leave out of a folded text all punctuation but that within numbers."""
    return _collapse(_replace(folded, POINTS, lambda _: " "))


def _join(parts: Sequence["PagePart"]) -> FoldedText:
    def trace() -> Places:
        starts, ends = array("Q"), array("Q")
        for part in parts:
            size = len(part.text)
            if size == part.end - part.start:
                starts.extend(range(part.start, part.end))
                ends.extend(range(part.start + 1, part.end + 1))
            else:
                starts.extend([part.start] * size)
                ends.extend([part.end] * size)
        return starts, ends

    return FoldedText("".join(part.text for part in parts), trace)


def _replace(
    folded: FoldedText, pattern: re.Pattern[str], instead: Callable[[re.Match[str]], str]
) -> FoldedText:
    """Replace each match by a character, which then stands for all of it, or by none."""

    def trace() -> Places:
        starts, ends = array("Q"), array("Q")
        last = 0
        for match in pattern.finditer(folded.text):
            starts.extend(folded.starts[last : match.start()])
            ends.extend(folded.ends[last : match.start()])
            last = match.end()
            if instead(match):
                starts.append(folded.starts[match.start()])
                ends.append(folded.ends[last - 1])
        starts.extend(folded.starts[last:])
        ends.extend(folded.ends[last:])
        return starts, ends

    return FoldedText(pattern.sub(instead, folded.text), trace)


def _fold(whole: FoldedText) -> FoldedText:
    def trace() -> Places:
        starts, ends = array("Q"), array("Q")
        for char, start, end in zip(whole.text, whole.starts, whole.ends, strict=True):
            for _ in FOLDED[ord(char)]:
                starts.append(start)
                ends.append(end)
        return starts, ends

    folded = FoldedText(whole.text.translate(FOLDED), trace)
    return _collapse(folded)


def _collapse(folded: FoldedText) -> FoldedText:
    for run in RUNS:
        folded = _replace(folded, run, lambda match: match[0][0])
    return folded


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


def fold_name(name: str) -> str:
    """Return a name or heading without regard to case and to how its accents are encoded.

    Names of files that were copied from a Mac often have an accent as a character of its own.
    """
    return unicodedata.normalize("NFC", name).casefold()


class _FoldedCharacters(dict[int, str]):
    """The folded form of characters by code point, computed when first asked for."""

    def __missing__(self, code: int) -> str:
        self[code] = _fold_character(chr(code))
        return self[code]


FOLDED = _FoldedCharacters()
