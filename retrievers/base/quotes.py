"""Finding where in the documents a quoted passage stands."""

import math
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from retrievers.base import Document

MARKUP = frozenset("*_`")  # Markdown's marks that a rendered page does not show
SINGLE_QUOTES = frozenset("‘’‚‛′´`ʼ‹›＇")
DOUBLE_QUOTES = frozenset("“”„‟″«»＂")
RUNS = (" ", "-")  # of these any number in a row counts as one
MOST = 50  # places counted for one quote
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Place:
    """Characters `start` to `end` of a document."""

    doc_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Folded:
    """A text without the differences that do not matter, and for each of its characters where in
    the original it starts and ends.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


def fold(text: str, *, markup: bool = True) -> Folded:
    """Fold case, compatibility forms, and kinds of white space, dashes and quotation marks.

    Runs of white space and of dashes become one character; invisible characters go, and without
    `markup` so do Markdown's emphasis and code marks.
    """
    pieces: list[str] = []
    starts, ends = array("Q"), array("Q")
    last = ""
    for at, char in enumerate(text):
        folded = "" if char in MARKUP and not markup else _fold_character(char)
        if not folded:
            continue
        if folded == last and folded in RUNS:
            ends[-1] = at + 1
            continue
        last = folded
        pieces.append(folded)
        for _ in folded:
            starts.append(at)
            ends.append(at + 1)
    return Folded("".join(pieces), starts, ends)


class Locator:
    """Finds quotes and named documents in a collection."""

    def __init__(self, documents: Mapping[str, Document]) -> None:
        self._documents = documents
        self._folded: dict[tuple[str, bool], Folded] = {}
        self._words: dict[str, frozenset[str]] = {}

    def find(self, quote: str, within: Sequence[str] = ()) -> list[Place]:
        """Return the places of `quote` in the documents `within`, or in all.

        The strictest reading that finds any counts: exact; folded (see `fold`); folded without
        Markdown's marks. Of several places, the only one that does not cut a word is taken.
        """
        wanted = quote.strip()
        among = within or list(self._documents)
        if not wanted:
            return []
        places = [place for name in among for place in self._find_exactly(wanted, name)]
        for markup in (True, False):
            if not places:
                needle = fold(wanted, markup=markup).text.strip()
                places = [at for name in among for at in self._find_folded(needle, name, markup)]
        whole = [place for place in places if self._is_whole(place)]
        return whole if len(whole) == 1 else places

    def find_documents(self, name: str) -> list[str]:
        """Return the ids of the documents that `name` may mean: an id, the end of a path, a file
        name without its extension, or a title. The strictest reading that finds any counts.
        """
        wanted = name.strip().replace("\\", "/").removeprefix("./").casefold()
        if name in self._documents:
            return [name]
        by_path = [
            known for known in self._documents if f"/{known}".casefold().endswith(f"/{wanted}")
        ]
        by_stem = [
            known for known in self._documents if PurePosixPath(known).stem.casefold() == wanted
        ]
        by_title = [
            known for known, item in self._documents.items() if item.title.casefold() == wanted
        ]
        return by_path or by_stem or by_title

    def nearest(self, text: str) -> str:
        """Return the id of the document that shares most words with `text`, rare ones counting
        more; "" when none shares any.
        """
        if not self._words:
            for name, item in self._documents.items():
                words = WORD.findall(f"{item.title} {item.text}".casefold())
                self._words[name] = frozenset(words)
        frequency = Counter(word for words in self._words.values() for word in words)
        wanted = set(WORD.findall(text.casefold())) & set(frequency)
        weights = {word: math.log(1 + len(self._words) / frequency[word]) for word in wanted}
        scores = {
            name: sum(weights[word] for word in sorted(wanted & words))
            for name, words in self._words.items()
        }
        best = max(scores, key=lambda name: scores[name], default="")
        return best if scores.get(best) else ""

    def line(self, place: Place) -> int:
        """Return the line, from 1, on which `place` begins."""
        return self._documents[place.doc_id].text.count("\n", 0, place.start) + 1

    def _find_exactly(self, wanted: str, name: str) -> Iterator[Place]:
        for start in _occurrences(self._documents[name].text, wanted):
            yield Place(name, start, start + len(wanted))

    def _find_folded(self, needle: str, name: str, markup: bool) -> Iterator[Place]:
        key = (name, markup)
        if key not in self._folded:
            self._folded[key] = fold(self._documents[name].text, markup=markup)
        folded = self._folded[key]
        for start in _occurrences(folded.text, needle):
            yield Place(name, folded.starts[start], folded.ends[start + len(needle) - 1])

    def _is_whole(self, place: Place) -> bool:
        text = self._documents[place.doc_id].text
        before, after = text[max(place.start - 1, 0) : place.start], text[place.end : place.end + 1]
        cuts_start = before.isalnum() and text[place.start].isalnum()
        cuts_end = after.isalnum() and text[place.end - 1].isalnum()
        return not (cuts_start or cuts_end)


def _occurrences(text: str, wanted: str) -> Iterator[int]:
    start = text.find(wanted) if wanted else -1
    for _ in range(MOST):
        if start < 0:
            return
        yield start
        start = text.find(wanted, start + 1)


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
