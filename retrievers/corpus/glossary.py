"""The definitions of terms in the documents of a corpus, by term."""

import copy
import json
import re
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from math import fsum
from typing import Any

from assay.retrievers.base import Document
from assay.retrievers.base.markdown import is_plain
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.definitions import Definition, defines, find_definitions
from assay.retrievers.documents.structure.blocks import Section
from assay.retrievers.documents.structure.identifiers import identify, split_title
from assay.retrievers.documents.structure.structure import parse_document
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest
from assay.retrievers.text.tokens import WORDS, fold

REVISION = 1  # raise it when the rules of finding definitions change
CACHE_KIND = "definitions"

# A definition and the titles of its section and those above it, outermost first.
Defined = tuple[Definition, tuple[str, ...]]

_POSSESSIVE = re.compile(r"'s?(?!\w)")


@dataclass(frozen=True)
class Entry:
    """A definition, the position of the chunk that holds it, and the titles above it.

    `scope` is 0 if these titles head a place of definitions, 1 if they do not, 2 for a short name.
    It is `shared` if its whole document is a glossary: its terms then apply to other documents.
    """

    definition: Definition
    doc_id: str
    position: int
    titles: tuple[str, ...]
    scope: int
    shared: bool

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of the sections around it."""
        return frozenset({self.definition.section_id, *map(identify, self.titles)})

    @cached_property
    def title_words(self) -> Sequence[frozenset[str]]:
        """The words of each title, without its number."""
        return [frozenset(read_words(split_title(title))) for title in self.titles]


class Glossary:
    """The definitions that chunks hold, by term, in the order of documents' ids and their text.

    The definitions of a document are cached; `fresh` is the number of documents not in the cache,
    and `seconds` the time to read all of them, whenever that was.
    """

    def __init__(self, corpus: Corpus, resources: Resources) -> None:
        self._corpus = corpus
        found, self.fresh, self.seconds = _find_all(corpus.documents, resources)
        entries: dict[str, list[Entry]] = defaultdict(list)
        for doc_id in sorted(found):
            for entry in self._place(doc_id, found[doc_id]):
                if term := " ".join(read_words(entry.definition.term)):
                    entries[term].append(entry)
        self._take(entries)

    def restrict(self, documents: Set[str]) -> "Glossary":
        """Return the glossary of these documents alone."""
        other = copy.copy(self)
        other._take(
            {
                term: held
                for term, entries in self.entries.items()
                if (held := [entry for entry in entries if entry.doc_id in documents])
            }
        )
        return other

    def _take(self, entries: Mapping[str, Sequence[Entry]]) -> None:
        self.entries = dict(entries)
        self._longest: dict[str, int] = defaultdict(int)
        for term in entries:
            first, *rest = term.split(" ")
            self._longest[first] = max(self._longest[first], len(rest) + 1)

    def longest_term(self, words: Sequence[str], i: int = 0) -> str:
        """Return the longest term that `words` spell from word `i` on; empty if none does."""
        for length in range(min(self._longest.get(words[i], 0), len(words) - i), 0, -1):
            term = " ".join(words[i : i + length])
            if term in self.entries:
                return term
        return ""

    def _place(self, doc_id: str, defined: Sequence[Defined]) -> Iterator[Entry]:
        """Yield the definitions that are in chunks, each with the chunk that holds most of it."""
        chunks, title = self._corpus.chunks, self._corpus.documents[doc_id].title
        positions = self._corpus.by_document.get(doc_id, ())
        starts = [chunks[position].start for position in positions]
        for definition, headings in defined:
            best, most = -1, 0
            for number in range(bisect_right(starts, definition.at) - 1, -1, -1):
                chunk = chunks[positions[number]]
                if chunk.end <= definition.at:
                    break
                held = min(chunk.end, definition.end) - max(chunk.start, definition.start)
                if held > most:
                    best, most = positions[number], held
            if best >= 0:
                titles = tuple(filter(None, (*headings, chunks[best].title, title)))
                scope = 2 if definition.form == "short name" else 1 - _head(titles)
                shared = _head((title, *headings[:1]))
                yield Entry(definition, doc_id, best, titles, scope, shared)


def read_words(text: str) -> list[str]:
    """Return the words of `text` in the form in which terms are compared: folded, singular."""
    return [_singular(word) for word in WORDS.findall(_strip_possessives(fold(text)))]


def _strip_possessives(text: str) -> str:
    return _POSSESSIVE.sub("", text) if "'" in text else text


@lru_cache(maxsize=1 << 16)
def _singular(word: str) -> str:
    """Return one form for the singular and the regular plural of an English word."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _head(titles: tuple[str, ...]) -> bool:
    """Return True if one of `titles` heads a place of definitions."""
    return defines(Section(0, 0, 0, headings=titles))


def _find_all(
    by_id: Mapping[str, Document], resources: Resources
) -> tuple[dict[str, list[Defined]], int, float]:
    """Return the definitions by document id, the number of documents not in the cache, and the
    seconds that reading all took, whenever that was.
    """
    keys = {
        id_: digest(CACHE_KIND, REVISION, is_plain(id_), document.text)
        for id_, document in by_id.items()
    }
    known = resources.cache.get_many(CACHE_KIND, keys.values())
    missing = [document for id_, document in by_id.items() if keys[id_] not in known]
    fresh = {}
    for document in resources.progress.track(missing, "definitions", len(missing)):
        begin = time.perf_counter()
        structure = parse_document(document)
        rows = [
            [asdict(definition), structure.section_at(definition.at).headings]
            for definition in find_definitions(structure)
        ]
        fresh[keys[document.id]] = json.dumps(
            {"seconds": time.perf_counter() - begin, "rows": rows}, ensure_ascii=False
        ).encode()
    if fresh:
        resources.cache.put_many(CACHE_KIND, fresh)
    known |= fresh
    values = {id_: json.loads(known[key]) for id_, key in keys.items()}
    found = {id_: list(_read_rows(value["rows"])) for id_, value in values.items()}
    return found, len(missing), fsum(value["seconds"] for value in values.values())


def _read_rows(rows: Sequence[Any]) -> Iterator[Defined]:
    for row, headings in rows:
        yield Definition(**row | {"exceptions": tuple(row["exceptions"])}), tuple(headings)
