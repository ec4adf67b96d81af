"""Finding the place of a quoted passage in the documents."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from assay.retrievers.base import Document
from assay.retrievers.base.folding import (
    READINGS,
    FoldedText,
    Reading,
    drop_points,
    fold,
    fold_name,
    fold_page,
)
from assay.retrievers.base.markdown import is_plain

if TYPE_CHECKING:
    from assay.retrievers.base.page import PagePart

MOST = 50  # places counted for one quote
WORD = re.compile(r"\w+")
PARAGRAPH = re.compile(r"\S.*(?:\n[^\S\n]*\S.*)*")


@dataclass(frozen=True, slots=True)
class QuoteSpan:
    """Characters `start` to `end` of a document."""

    doc_id: str
    start: int
    end: int


class Locator:
    """Finds quotes and named documents in a collection."""

    def __init__(self, documents: Mapping[str, Document]) -> None:
        self._documents = documents
        self._folded: dict[tuple[str, bool], FoldedText] = {}
        self._pages: dict[str, _Page] = {}
        self._words: dict[str, frozenset[str]] = {}

    def find(self, quote: str, within: Sequence[str] = ()) -> list[QuoteSpan]:
        """Return the places of `quote` in the documents `within`, or in all.

        The strictest reading that finds any counts: exact; folded (see `fold`); folded without
        Markdown's marks; as a page shows it (see `READINGS`). If only one of several places does
        not cut a word, it alone is returned.
        """
        wanted = quote.strip()
        among = within or list(self._documents)
        if not wanted:
            return []
        places = [place for name in among for place in self._find_exactly(wanted, name)]
        for markup in (True, False):
            if not places:
                needle = fold(wanted, markup=markup).text.strip()
                places = [i for name in among for i in self._find_folded(needle, name, markup)]
        if not places:
            places = self._find_shown(wanted, among)
        whole = [place for place in places if self._is_whole(place)]
        return whole if len(whole) == 1 else places

    def find_documents(self, name: str) -> list[str]:
        """Return the ids of the documents that `name` may mean: an id, the end of a path, that of a
        file which became Markdown (`guide.pdf` of `guide.pdf.md`), a file name without its
        extension, or a title. The strictest reading that finds any counts.
        """
        wanted = fold_name(name.strip().replace("\\", "/").removeprefix("./"))
        if name in self._documents:
            return [name]
        by_path, by_origin = (
            [known for known in self._documents if f"/{fold_name(known)}".endswith(f"/{end}")]
            for end in (wanted, f"{wanted}.md")
        )
        by_stem = [
            known for known in self._documents if fold_name(PurePosixPath(known).stem) == wanted
        ]
        by_title = [
            known for known, item in self._documents.items() if fold_name(item.title) == wanted
        ]
        return by_path or by_origin or by_stem or by_title

    def find_end(self, path: str) -> str:
        """Return the longest id that a path from elsewhere ends with, "" if there is none."""
        parts = path.strip().replace("\\", "/").split("/")
        ends = ("/".join(parts[i:]) for i in range(1, len(parts)))
        return next((end for end in ends if end in self._documents), "")

    def nearest(self, text: str) -> str:
        """Return the id of the document that shares most words with `text`, "" if none shares any.

        Rare words count more.
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

    def nearest_passage(self, text: str, doc_id: str) -> QuoteSpan | None:
        """Return the paragraph of a document that shares most words with `text`.

        If several share as many, it is the shortest; None if no paragraph shares any.
        """
        wanted = set(WORD.findall(text.casefold()))
        shared = {
            (len(wanted & set(WORD.findall(item[0].casefold()))), -len(item[0]), item.start()): item
            for item in PARAGRAPH.finditer(self._documents[doc_id].text)
        }
        most = max(shared, default=(0, 0, 0))
        return QuoteSpan(doc_id, shared[most].start(), shared[most].end()) if most[0] else None

    def line(self, place: QuoteSpan) -> int:
        """Return the line, from 1, on which `place` begins."""
        return self._documents[place.doc_id].text.count("\n", 0, place.start) + 1

    def _find_exactly(self, wanted: str, name: str) -> Iterator[QuoteSpan]:
        for start in find_occurrences(self._documents[name].text, wanted):
            yield QuoteSpan(name, start, start + len(wanted))

    def _find_folded(self, needle: str, name: str, markup: bool) -> Iterator[QuoteSpan]:
        key = (name, markup)
        if key not in self._folded:
            self._folded[key] = fold(self._documents[name].text, markup=markup)
        return _find_within(self._folded[key], needle, name)

    def _find_shown(self, wanted: str, among: Sequence[str]) -> list[QuoteSpan]:
        """Return the places by the first of the `READINGS` that finds any.

        A quote was copied from a page, or is Markdown itself.
        """
        forms = _Page(wanted, plain=True), _Page(wanted, plain=False)
        pages = [(name, self._read_page(name)) for name in among]
        tried: set[tuple[int, str]] = set()
        for reading, form in itertools.product(READINGS, forms):
            needle = form.fold(reading).text.strip()
            places: list[QuoteSpan] = []
            for name, page in pages:
                folded = page.fold(reading)
                if (id(folded), needle) not in tried:
                    tried.add((id(folded), needle))
                    places += _find_within(folded, needle, name)
            # They differ in marks that a page does not show, so that they must not cut a word.
            if places := [place for place in places if self._is_whole(place)]:
                return places
        return []

    def _read_page(self, name: str) -> "_Page":
        if name not in self._pages:
            self._pages[name] = _Page(self._documents[name].text, plain=is_plain(name))
        return self._pages[name]

    def _is_whole(self, place: QuoteSpan) -> bool:
        text = self._documents[place.doc_id].text
        before, after = text[max(place.start - 1, 0) : place.start], text[place.end : place.end + 1]
        cuts_start = before.isalnum() and text[place.start].isalnum()
        cuts_end = after.isalnum() and text[place.end - 1].isalnum()
        return not (cuts_start or cuts_end)


def find_occurrences(text: str, wanted: str) -> Iterator[int]:
    """Yield the places where `wanted` begins in a text, at most 50; none if it is empty."""
    start = text.find(wanted) if wanted else -1
    for _ in range(MOST):
        if start < 0:
            return
        yield start
        start = text.find(wanted, start + 1)


def _find_within(folded: FoldedText, needle: str, name: str) -> Iterator[QuoteSpan]:
    for start in find_occurrences(folded.text, needle):
        yield QuoteSpan(name, folded.starts[start], folded.ends[start + len(needle) - 1])


class _Page:
    """A text as pages show it, by reading; `plain` is a text without markup."""

    def __init__(self, text: str, *, plain: bool) -> None:
        self._parts = _read_plain(text) if plain else _read_markdown(text)
        self._kinds = frozenset(part.kind for part in self._parts)
        self._folded: dict[Reading, FoldedText] = {}

    def fold(self, reading: Reading) -> FoldedText:
        """Return the page in this reading; readings that do not differ here share it."""
        found = self._folded.get(reading)
        if found is None:
            own = replace(reading, kinds=reading.kinds & self._kinds)
            found = self._folded.get(own)
            if found is None and own.points:
                found = fold_page(self._parts, own.kinds, numbers=own.numbers)
            elif found is None:
                found = drop_points(self.fold(replace(own, points=True)))
            self._folded[own] = self._folded[reading] = found
        return found


def _read_plain(text: str) -> "list[PagePart]":
    from assay.retrievers.base.page import PagePart

    return [PagePart(text, 0, len(text))]


def _read_markdown(text: str) -> "list[PagePart]":
    from assay.retrievers.base.page import read_page

    return read_page(text)
