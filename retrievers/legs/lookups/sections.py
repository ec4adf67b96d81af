"""The chunks that hold the sections and numbered paragraphs named in a query."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from assay.retrievers.base import Chunk
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.references.query_citations import Mention, read_mentions, spell
from assay.retrievers.documents.structure.identifiers import NAMES, NUMBER, identify, split_title
from assay.retrievers.documents.structure.structure import parse
from assay.retrievers.text.base import Analyzer
from assay.retrievers.text.languages import LanguageAnalyzerSettings
from assay.retrievers.text.tokens import WORDS, fold

_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)", re.M)


@dataclass(frozen=True, slots=True)
class SectionMatch:
    """The positions of the chunks of the place `id` that a mention names, or the nearest above it.

    - `first`: the chunks in each of which the place begins.
    - `rest`: the other chunks of its section, or of all sections below a division such as Title II.
      Both are in the order of documents' ids, then of the text.
    - `nearest`: True if the named place itself is unknown.
    - `doubtful`: the places with this id in other documents, or in all documents if the query does
      not say which one it means; in groups, the likeliest first.
    """

    mention: Mention
    id: str
    first: Sequence[int]
    rest: Sequence[int]
    nearest: bool = False
    doubtful: Sequence[Sequence[int]] = ()

    @property
    def divides(self) -> bool:
        """True if the place is a division, with sections below it."""
        return self.id.partition("_")[0] in NAMES


class SectionIndex:
    """The sections and numbered paragraphs of a collection, by id, read from its chunks.

    A chunk that names no section, as prescribed passages do, is read for its title and headings.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._chunks = corpus.chunks
        self._names = DocumentNames(corpus)
        self._anchors: dict[int, Sequence[str]] = {}
        self._begins: dict[str, list[int]] = defaultdict(list)
        self._within: dict[str, set[int]] = defaultdict(set)
        # The first words of the titles that a number, spelled as in its heading, stands before.
        self._titles: dict[str, set[str]] = defaultdict(set)
        for doc_id in sorted(corpus.by_document):
            for position in corpus.by_document[doc_id]:
                self._add(position)
            for section in (
                corpus.structures[doc_id].sections if doc_id in corpus.structures else ()
            ):
                if section.name != section.title and not _number(section.title):  # 3 Mounting
                    number = spell(section.title.removesuffix(section.name).strip(" ().:"))
                    self._titles[number].add(_first_word(section.name))

    def find(self, query: str) -> list[SectionMatch]:
        """Return the known places that `query` names, in its order.

        If one of the names is a division above another, as in Chapter 5 of Title 2, only places
        below it are meant. If documents share an id, the one that the query names is meant. A range
        that begins and ends in one document covers that document only.
        """
        found: dict[str, SectionMatch] = {}
        for mention in read_mentions(query):
            for reading in self._readings(mention):
                place = self._locate(reading)
                found.setdefault(place.id, place)
        places = self._narrow(list(found.values()))
        chosen = [self._choose(place, query) for place in places]
        ends = {
            self._chunks[i].doc_id
            for place in chosen
            for i in place.first
            if not place.mention.between
        }
        return [
            one
            for place, one in zip(places, chosen, strict=True)
            if len(ends) != 1 or not one.mention.between or ends & self._group(place.first).keys()
        ]

    def _add(self, position: int) -> None:
        chunk = self._chunks[position]
        section, anchors = chunk.section_id, chunk.anchors
        if not (section or anchors):
            section, anchors = _read_text(chunk)
        self._anchors[position] = anchors
        if section:
            self._within[section].add(position)
        for heading in chunk.headings:
            if _identify(heading).partition("_")[0] in NAMES:
                self._within[_identify(heading)].add(position)
        for anchor in dict.fromkeys(anchors):
            held = self._begins[anchor]
            # What begins in the overlap of two chunks is held by the later one.
            overlapped = bool(held) and _overlap(self._chunks[held[-1]], chunk)
            held.insert(len(held) - overlapped, position)
        for title in {*chunk.headings, chunk.title, *_HEADING.findall(chunk.text)}:
            if number := _number(title):
                self._titles[number].add(_first_word(split_title(title)))

    def _readings(self, mention: Mention) -> Sequence[Mention]:
        """Return the known mentions of the first reading whose mentions are all known.

        Mentions that only lie `between` two others need not be known.
        """
        if mention.form == "bare" and not self._is_meant(mention):
            return ()
        for reading in mention.readings():
            here = [one for one in reading if any(id_ in self._begins for id_ in one.ids)]
            if all(one.between or one in here for one in reading):
                return here
        return ()

    def _is_meant(self, mention: Mention) -> bool:
        """Return True if a number alone names a section: as headings spell it, and not by chance.

        4.2 or 19 is one only at the head of a query, before the title that stands there too.
        """
        known = any(reading[0].spelled in self._titles for reading in mention.readings())
        if mention.labels or not re.fullmatch(r"\d+[a-z]?(?:\.\d+[a-z]?)?", mention.spelled):
            return known
        word = _first_word(mention.rest)
        whole = not word and "." in mention.spelled
        return mention.opens and known and (whole or word in self._titles.get(mention.spelled, ()))

    def _locate(self, mention: Mention) -> SectionMatch:
        """Return the place of a mention, one of whose ids is known."""
        id_ = next(id_ for id_ in mention.ids if id_ in self._begins)
        first = self._begins[id_]
        section = mention.section
        if mention.form == "id":  # which does not say where its labels begin
            around = self._chunks[first[0]].section_id
            section = around if id_.startswith(around) else id_
        documents = {self._chunks[position].doc_id for position in first}
        of_section = {*self._begins.get(section, ()), *self._within.get(section, ())}
        rest = [
            position
            for position in of_section.difference(first)
            if self._chunks[position].doc_id in documents
        ]
        return SectionMatch(
            mention, id_, first, sorted(rest, key=self._place), id_ != mention.ids[0]
        )

    def _place(self, position: int) -> tuple[str, int, int]:
        chunk = self._chunks[position]
        return chunk.doc_id, chunk.start, -position

    def _narrow(self, found: Sequence[SectionMatch]) -> list[SectionMatch]:
        narrowed, above = [], set()
        for place in found:
            stands = not place.mention.inside
            for other in found:
                inside = [i for i in place.first if self._is_above(other, place, i)]
                if inside:
                    stands = True
                    above.add(other.id)
                    documents = {self._chunks[i].doc_id for i in inside}
                    within = self._within[other.id]
                    rest = [
                        i
                        for i in place.rest
                        if self._chunks[i].doc_id in documents
                        and (i in within or not within.intersection(inside))
                    ]
                    place = replace(place, first=inside, rest=rest)
            if stands:
                narrowed.append(place)
        return [place for place in narrowed if place.id not in above]

    def _choose(self, place: SectionMatch, query: str) -> SectionMatch:
        """Return `place` in the document that the words of `query` beyond the mention name.

        The document is undecided if the words name several equally well that are not copies, name
        none, or name another document better.
        """
        holders = self._group(place.first)
        if len(holders) < 2:
            return place
        words = read_words(query, place.mention.text)
        likeness = {
            doc_id: max(self._names.compare(words, self._chunks[i]) for i in positions)
            for doc_id, positions in holders.items()
        }
        best = max(likeness.values())
        chosen = [doc_id for doc_id, like in likeness.items() if like == best]
        texts = {tuple(self._chunks[i].text for i in holders[doc_id]) for doc_id in chosen}
        if len(texts) > 1 or best[0] < max(self._names.count_best(words), 1):
            chosen = []
        ranked: dict[Likeness, list[int]] = defaultdict(list)
        for doc_id in holders.keys() - chosen:
            ranked[likeness[doc_id]] += holders[doc_id]
        return replace(
            place,
            first=[i for i in place.first if self._chunks[i].doc_id in chosen],
            rest=[i for i in place.rest if self._chunks[i].doc_id in chosen],
            doubtful=[
                *(sorted(ranked[like], key=self._place) for like in sorted(ranked, reverse=True)),
                [i for i in place.rest if self._chunks[i].doc_id not in chosen],
            ],
        )

    def _group(self, positions: Sequence[int]) -> dict[str, list[int]]:
        """Return `positions` by the documents that they are in."""
        grouped: dict[str, list[int]] = defaultdict(list)
        for i in positions:
            grouped[self._chunks[i].doc_id].append(i)
        return grouped

    def _is_above(self, other: SectionMatch, place: SectionMatch, position: int) -> bool:
        """Return True if `place` is below the division `other` where it begins at `position`."""
        if other.mention.name in ("sec", place.mention.name):
            return False
        anchors = self._anchors[position]
        if other.id in anchors:
            return anchors.index(other.id) < anchors.index(place.id)
        return other.id in map(_identify, self._chunks[position].headings)


_identify = lru_cache(maxsize=1 << 16)(identify)


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.doc_id == other.doc_id and other.start < one.end


def _read_text(chunk: Chunk) -> tuple[str, tuple[str, ...]]:
    """Return the section of a chunk and the ids that begin in it, as far as its own text shows."""
    headings = [chunk.title, *_HEADING.findall(chunk.text)]
    if not any(map(_number, headings)):
        return "", ()
    structure = parse(f"# {chunk.title}\n\n{chunk.text}" if chunk.title else chunk.text)
    parts = (structure.sections, structure.paragraphs)
    places = sorted((item.start, item.id) for items in parts for item in items if item.id)
    return structure.sections[0].id, tuple(id_ for _, id_ in places)


@lru_cache(maxsize=1 << 16)
def _number(title: str) -> str:
    """Return the number of a section's title in one spelling; empty if it has none."""
    if _identify(title).partition("_")[0] not in ("sec", *NAMES):
        return ""
    match = re.search(NUMBER, unicodedata.normalize("NFKC", title))
    return spell(match[0]) if match else ""


def _first_word(text: str) -> str:
    match = WORDS.search(fold(text))
    return match[0] if match else ""


# How many words of a query a name has, and whether the query has all those of the title.
Likeness = tuple[int, bool]


class DocumentNames:
    """The words that each document of a collection is called by.

    Words are compared by their English stems, without English stop words and numbers of sections.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._titles = {id_: document.title for id_, document in corpus.documents.items()}
        self._called: dict[str, list[str]] = defaultdict(list)
        for doc_id in corpus.by_document:
            for word in self._name(doc_id):
                self._called[word].append(doc_id)

    def compare(self, words: frozenset[str], chunk: Chunk) -> Likeness:
        """Return how much of `words` the title, path and headings of a chunk have."""
        headings = (_read(split_title(heading)) for heading in chunk.headings)
        named = self._name(chunk.doc_id).union(_read(chunk.title), *headings)
        title = _read(self._titles.get(chunk.doc_id) or chunk.title)
        return len(words & named), bool(title) and title <= words

    def count_best(self, words: frozenset[str]) -> int:
        """Return how many of `words` the title and path of one document have at most."""
        counts = Counter(doc_id for word in words for doc_id in self._called.get(word, ()))
        return max(counts.values(), default=0)

    def _name(self, doc_id: str) -> frozenset[str]:
        return _read(self._titles.get(doc_id, "")) | _read(doc_id)


def read_words(query: str, mention: str) -> frozenset[str]:
    """Return the words of `query` beyond a `mention` in it."""
    return _read(query.replace(mention, " ", 1))


_ANALYZER = LanguageAnalyzerSettings(language="english", identifiers=False)


@lru_cache(maxsize=1)
def _analyzer() -> Analyzer:
    return _ANALYZER.build()


@lru_cache(maxsize=1 << 14)
def _read(text: str) -> frozenset[str]:
    return frozenset(_analyzer().analyze(text))
