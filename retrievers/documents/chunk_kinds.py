"""Kinds of chunks: content, definition, requirement, reference or header."""

import re
from bisect import bisect_left
from collections.abc import Sequence

from assay.retrievers.documents.definitions import Definition, find_definitions
from assay.retrievers.documents.references.references import Reference, find_references
from assay.retrievers.documents.structure.structure import Structure

KINDS = ("content", "definition", "requirement", "reference", "header", "frontmatter")

_REFERENCES = re.compile(
    r"(?:references|bibliography|see also|related(?:\s+\w+)?|further reading|links|citations)\W*\Z",
    re.I,
)
_REQUIRES = re.compile(
    r"\b(?:must|shall|(?:is|are)\s+(?:not\s+)?(?:required|obliged|permitted|prohibited|forbidden)"
    r"|may\s+not|need\s+not)\b",
    re.I,
)


class Classifier:
    """A classifier of the spans of one document by kind."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._definitions = [
            found for found in find_definitions(structure) if found.form != "short name"
        ]
        self._references = find_references(structure)

    def kind(self, begin: int, end: int) -> str:
        """Return the kind of the text from `begin` to `end`: the first that applies.

        header: headings alone; definition: a term is defined there; reference: it stands under
        such a heading, or half of it is references and links; requirement: it says what must or
        must not be; content: anything else.
        """
        bodies = self._bodies(begin, end)
        size = sum(len(body.strip()) for body in bodies)
        if not size:
            return "header"
        if _within(self._definitions, begin, end):
            return "definition"
        if 2 * self._referring(begin, end) >= size or self._is_list_of_references(begin):
            return "reference"
        return "requirement" if any(map(_REQUIRES.search, bodies)) else "content"

    def _bodies(self, begin: int, end: int) -> list[str]:
        text = self._structure.text
        return [
            text[max(begin, section.body) : min(end, section.end)]
            for section in self._structure.sections_within(begin, end)
        ]

    def _referring(self, begin: int, end: int) -> int:
        """Return the number of characters of references and links from `begin` to `end`."""
        references = _within(self._references, begin, end)
        links = [link for link in self._structure.links if begin <= link.start < end]
        return sum(item.end - item.start for item in references) + sum(
            len(link.text) + (4 if link.wiki else len(link.target) + 4) for link in links
        )

    def _is_list_of_references(self, begin: int) -> bool:
        return bool(_REFERENCES.match(self._structure.section_at(begin).name))


def _within(
    items: Sequence[Definition] | Sequence[Reference], begin: int, end: int
) -> Sequence[Definition] | Sequence[Reference]:
    first = bisect_left(items, begin, key=_place)
    return items[first : bisect_left(items, end, key=_place)]


def _place(item: Definition | Reference) -> int:
    return item.at if isinstance(item, Definition) else item.start
