"""The exact leg: sections by the ids that a query names, phrases by their quotation marks.

A query that is a heading as a whole, or one name, as getAuthToken, is looked up as well.
"""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Literal

from pydantic import Field

from assay.retrievers.base import IndexReport
from assay.retrievers.base.stopwatch import Stopwatch
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.structure.blocks import Section
from assay.retrievers.documents.structure.identifiers import (
    COUNTED,
    identify,
    join_id,
    split_title,
)
from assay.retrievers.fusion.fusion import RrfSettings
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.legs.base import Kind, Leg, LegResult, LegSettings
from assay.retrievers.legs.lookups.phrases import (
    Match,
    PhraseIndex,
    normalise,
    read_name,
    read_names,
    read_phrases,
    stands_in,
)
from assay.retrievers.legs.lookups.sections import SectionIndex, SectionMatch
from assay.retrievers.settings import Resources

# A heading of more sections than these, as Overview or Notes, names none of them.
FEW = 5


@dataclass(frozen=True, slots=True)
class HeadedSection:
    """A section by the positions of its chunks: the one it begins in, and the others in order."""

    first: int
    rest: Sequence[int]


class HeadingIndex:
    """The sections of a collection by their headings, with and without the number before them.

    The title of a document that is no section's heading leads to the beginning of the document.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._sections: dict[str, list[tuple[str, Section]]] = defaultdict(list)
        self._named: dict[str, list[tuple[str, Section]]] = defaultdict(list)
        self._titles: dict[str, list[int]] = defaultdict(list)
        for doc_id, positions in sorted(corpus.by_document.items()):
            if document := corpus.documents.get(doc_id):
                self._titles[_spell(document.title)].append(positions[0])
            structure = corpus.structures.get(doc_id)
            for section in structure.sections if structure else ():
                title, name = _spell(section.title), _spell(section.name)
                self._sections[title].append((doc_id, section))
                if name != title:
                    self._named[name].append((doc_id, section))

    def find(self, query: str) -> list[HeadedSection]:
        """Return the sections with the heading `query`; none if there are many.

        Those that match in full come first, then those that match after a number.
        """
        title = _spell(query)
        if not title:
            return []
        full, named = self._sections.get(title, []), self._named.get(title, [])
        if full or named:
            return self._place_all(full + named if len(full + named) <= FEW else full)
        if numbered := self._find_numbered(query):
            return numbered
        titled = self._titles.get(title, [])
        return [HeadedSection(first, ()) for first in titled] if len(titled) <= FEW else []

    def _find_numbered(self, query: str) -> list[HeadedSection]:
        """Return the sections of a query such as § 9 Fees, whose headings write 9. Fees or so."""
        id_, name = identify(query), split_title(query)
        if name == query and (counted := COUNTED.match(query)):
            id_, name = join_id("sec", counted["number"]), counted["rest"]
        alike = [item for item in self._named.get(_spell(name), []) if item[1].id == id_]
        return self._place_all(alike)

    def _place_all(self, sections: Sequence[tuple[str, Section]]) -> list[HeadedSection]:
        """Return the positions of `sections`; none if there are many."""
        placed = (self._place(*section) for section in sections) if len(sections) <= FEW else ()
        return [headed for headed in placed if headed]

    def _place(self, doc_id: str, section: Section) -> HeadedSection | None:
        """Return the positions of a section; None if a chunker left it out."""
        chunks = self._corpus.chunks
        held = [
            i
            for i in self._corpus.by_document[doc_id]
            if chunks[i].start < section.end and section.start < chunks[i].end
        ]
        if not held:
            return None
        # A chunk that is another section's but for its last lines does not speak for this one.
        first = next((i for i in held[:2] if self._speaks_for(i, section)), held[0])
        return HeadedSection(first, [i for i in held if i != first])

    def _speaks_for(self, position: int, section: Section) -> bool:
        """Return True if a chunk and a section share half of the shorter of the two."""
        chunk = self._corpus.chunks[position]
        shared = min(chunk.end, section.end) - max(chunk.start, section.start)
        return 2 * shared >= min(chunk.end - chunk.start, section.end - section.start)


def _spell(title: str) -> str:
    """Return a title in one spelling; empty if it has no letter, as a year has none."""
    spelled = normalise(title).strip(" .,:;?!#")
    return spelled if any(map(str.isalpha, spelled)) else ""


class ExactLegSettings(LegSettings):
    """Sections by number in any spelling, and quoted phrases; nothing for other queries.

    A query that is a heading or one name as a whole finds that section, or where the name stands.
    """

    kind: ClassVar[Kind] = "exact"
    type: Literal["exact"]
    depth: int = Field(
        100,
        ge=1,
        description="how many chunks enter fusion; give the leg a boost there to put them first",
    )

    def build(self, resources: Resources) -> Leg:
        """Return the leg, not yet indexed."""
        return ExactLeg()


class ExactLeg(Leg):
    """Finds the sections, paragraphs and phrases that a query names; none if it names nothing.

    For each section or numbered paragraph, the chunk in which it begins comes first; then the
    other chunks of their sections in the order of the text, or of all sections below a division
    such as Title II; then the chunks with quoted phrases. For a paragraph that does not exist, the
    nearest one above it is found. If the whole query is a heading, its section comes before all of
    that: 3.2 Refunds is surer than 3.2. If nothing else is named, and the query is one name of
    several parts, it is found as if quoted. The score is 1 / rank.

    If several documents have the number, the one is meant whose title, path and headings have most
    of the query's other words. The places in the others come last, in the order of the earlier
    legs, and get no boost; if the query names no document, or several alike, none gets a boost.
    """

    def __init__(self) -> None:
        self.index(Corpus(()))

    def index(self, corpus: Corpus) -> IndexReport:
        """Tabulate the sections, paragraphs, headings and words of the chunks."""
        begin = time.perf_counter()
        self._chunks = corpus.chunks
        self._sections = SectionIndex(corpus)
        self._headings = HeadingIndex(corpus)
        self._phrases = PhraseIndex([f"{chunk.title}\n{chunk.text}" for chunk in corpus.chunks])
        seconds = time.perf_counter() - begin
        return IndexReport(len(corpus.chunks), {"exact": seconds}, self._phrases.bytes)

    def search(self, query: str, depth: int) -> LegResult:
        """Return the chunks of what `query` names or quotes."""
        return self.follow(query, depth, {})

    def follow(self, query: str, depth: int, found: Mapping[str, Sequence[Scored]]) -> LegResult:
        """Search as `search` does; order chunks with equally many quoted phrases as earlier legs.

        Chunks that the earlier legs did not find come after, those first in which the phrase begins
        earliest. The chunks below a division are ordered alike, unless the query is its name alone:
        then they are in the order of the text.
        """
        watch = Stopwatch()
        places = self._sections.find(query)
        phrases = read_phrases(query)
        headed = self._headings.find(query)
        if not (places or phrases or headed) and (name := read_name(query)):
            phrases = [name]
        names = read_names(query)
        ranks = {position: rank for rank, (position, _) in enumerate(RrfSettings().fuse(found))}
        matches = self._order(self._phrases.find(phrases), ranks, names) if phrases else []
        positions = dict.fromkeys(
            chain(
                (place.first for place in headed),
                chain.from_iterable(place.rest for place in headed),
                chain.from_iterable(place.first for place in places),
                chain.from_iterable(_order_rest(place, query, ranks) for place in places),
                (match.position for match in matches),
            )
        )
        certain = len(positions)
        for place in places:
            for group in place.doubtful:
                positions |= dict.fromkeys(_order_by(ranks, group))
        doubtful = frozenset(list(positions)[certain:])
        ranked = [(position, 1 / rank) for rank, position in enumerate(positions, start=1)]
        watch.stop("search")
        note = _describe(places, headed, phrases, matches)
        return LegResult(ranked[:depth], watch.wall, note, cpu=watch.cpu, unboosted=doubtful)

    def _order(
        self, matches: Sequence[Match], ranks: Mapping[int, int], names: Sequence[str]
    ) -> list[Match]:
        """Return `matches` by number of phrases, then in the order of the earlier legs.

        Those that have one of `names` in its exact spelling come first: uS before us.
        """

        def count(match: Match) -> int:
            chunk = self._chunks[match.position]
            text = f"{chunk.title}\n{chunk.text}"
            return sum(stands_in(text, name) for name in names)

        return sorted(
            matches,
            key=lambda match: (
                -match.phrases, -count(match), ranks.get(match.position, len(ranks))
            ),
        )  # fmt: skip


def _order_rest(place: SectionMatch, query: str, ranks: Mapping[int, int]) -> Sequence[int]:
    """Return the rest of a section in the text's order, of a division in the earlier legs' one."""
    if not place.divides or len(place.mention.text) >= len(query.strip(" ?.!")):
        return place.rest
    return _order_by(ranks, place.rest)


def _order_by(ranks: Mapping[int, int], positions: Sequence[int]) -> list[int]:
    """Return `positions` in the order of the earlier legs; those that they lack come after."""
    return sorted(positions, key=lambda position: ranks.get(position, len(ranks)))


def _describe(
    places: Sequence[SectionMatch],
    headed: Sequence[HeadedSection],
    phrases: Sequence[str],
    matches: Sequence[Match],
) -> str:
    sections = f"{len(headed)} section{'s' if len(headed) > 1 else ''}"
    parts = [f"the heading of {sections}"] if headed else []
    parts += [
        f"{place.id} {'above' if place.nearest else 'by'} {place.mention.text}"
        f"{'' if place.first else ' in several documents'}"
        for place in places
    ]
    if phrases:
        quoted = ", ".join(f"“{phrase}”" for phrase in phrases)
        parts.append(f"{quoted} in {len(matches)} chunks")
    return "; ".join(parts)
