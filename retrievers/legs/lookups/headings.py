"""Headings and titles: the sections and documents whose name is all that a query says."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.structure.blocks import Section
from assay.retrievers.documents.structure.identifiers import (
    COUNTED,
    identify,
    join_id,
    split_title,
)
from assay.retrievers.legs.lookups.phrases import normalise

# A heading of more sections than these, as Overview or Notes, names none of them.
FEW = 5


@dataclass(frozen=True, slots=True)
class HeadedSection:
    """A section by the positions of its chunks: the one it begins in, and the others in order."""

    first: int
    rest: Sequence[int]


class HeadingIndex:
    """The sections of a collection by their headings, with and without the number before them.

    The title of a document that heads none of them stands for the place where the document begins.
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
        """Return the sections that have `query` for a heading; none where many have.

        Those that have it in full come first, then those that have it after a number.
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
        """Return where `sections` stand; nothing where they are many."""
        placed = (self._place(*section) for section in sections) if len(sections) <= FEW else ()
        return [headed for headed in placed if headed]

    def _place(self, doc_id: str, section: Section) -> HeadedSection | None:
        """Return where a section stands; None where a chunker left it out."""
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
        """Say whether a chunk and a section share half of the shorter of the two."""
        chunk = self._corpus.chunks[position]
        shared = min(chunk.end, section.end) - max(chunk.start, section.start)
        return 2 * shared >= min(chunk.end - chunk.start, section.end - section.start)


def _spell(title: str) -> str:
    """Return a title in one spelling; empty where it has no letter, as a year has none."""
    spelled = normalise(title).strip(" .,:;?!#")
    return spelled if any(map(str.isalpha, spelled)) else ""
