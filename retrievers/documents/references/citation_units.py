"""The grammar that citations in texts and in queries share.

That is the order of the forms, the places that a mention names, and what these share with places
named next to them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from assay.retrievers.documents.references import patterns
from assay.retrievers.documents.structure.identifiers import DASH, LABEL, join_id
from assay.retrievers.documents.structure.numerals import count_on
from assay.retrievers.documents.structure.paragraphs import label_styles

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unit:
    """One of the places that a mention names."""

    start: int
    end: int
    section: str
    labels: tuple[str, ...] = ()
    through: tuple[str, ...] = ()


def find_forms(
    readers: Mapping[re.Pattern[str], T], text: str, begin: int = 0
) -> list[tuple[re.Match[str], T]]:
    """Return the matches of all patterns with their readers, in order of place, then of pattern."""
    matches = [
        (match.start(), rank, match, read)
        for rank, (pattern, read) in enumerate(readers.items())
        for match in pattern.finditer(text, begin)
    ]
    return [(match, read) for _, _, match, read in sorted(matches, key=lambda item: item[:2])]


def read_below(text: str, end: int) -> tuple[tuple[str, ...], int]:
    """Return the labels that para. 1 lit. f or the like names at `end`, and their end."""
    labels: list[str] = []
    while below := patterns.BELOW.match(text, end):
        labels += [below["label"].strip("()"), *list_labels(below["labels"])]
        end = below.end()
    return tuple(labels), end


def divide(name: str, match: re.Match[str], start: int) -> Unit:
    """Return the place that a match names, of a division of this name."""
    return Unit(start, match.end(), join_id(name, match["number"]), list_labels(match["labels"]))


def reach(first: Unit, spread: re.Match[str], plural: bool) -> Unit:
    """Return `first` with the places after it up to the end of a range.

    After one section by itself, as in Section 5 to 10 days, no more of them follow.
    """
    if not (plural or spread["again"]):
        return Unit(first.start, spread.end(), first.section, first.labels)
    name, _, number = first.section.partition("_")
    numbers = count_on(number, "_".join(re.findall(r"\w+", spread["number"] or "")))
    through = tuple(join_id(name, other.replace("_", " ")) for other in numbers)
    return Unit(first.start, spread.end(), first.section, first.labels, through)


def find_style(level: str) -> str:
    """Return the style of the labels of a level; "" if it is no level."""
    *deeper, name = level.lower().replace("sub-", "sub- ").split()
    if name not in patterns.LEVELS:
        return ""
    return patterns.ORDER[
        min(patterns.ORDER.index(patterns.LEVELS[name]) + len(deeper), len(patterns.ORDER) - 1)
    ]


def list_labels(text: str) -> tuple[str, ...]:
    """Return the labels of (a)(1)(i)."""
    return tuple(label[1:-1] for label in re.findall(LABEL, text))


def list_beside(labels: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path of `other` if it lists a sibling of one of `labels`, else ()."""
    for level in range(len(labels) - 1, -1, -1):
        if set(label_styles(labels[level])) & set(label_styles(other[0])):
            return (*labels[:level], *other)
    return ()


def find_shape(number: str) -> tuple[bool, bool]:
    """Return the shape that numbers of one list share: digits first, and joined by marks."""
    return number[0].isdigit(), bool(re.search(rf"\.|{DASH}", number))
