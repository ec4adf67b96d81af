"""The places of the targets of references in a collection."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from assay.retrievers.documents.references.references import Reference
from assay.retrievers.documents.structure.blocks import Section
from assay.retrievers.documents.structure.paragraphs import Paragraph
from assay.retrievers.documents.structure.structure import Structure

_YEAR = re.compile(r",? (?:of )?\d{4}\Z")


@dataclass(frozen=True, slots=True)
class TargetSpan:
    """Characters `start` to `end` of a document, under the id of a section or paragraph."""

    doc_id: str
    id: str
    start: int
    end: int


class Targets:
    """The sections and numbered paragraphs of a collection, by id."""

    def __init__(self, structures: Mapping[str, Structure]) -> None:
        """Take the structures of the documents by document id."""
        self._places: dict[str, dict[str, TargetSpan]] = {}
        self._laws = Laws((doc_id, name_document(item)) for doc_id, item in structures.items())
        for doc_id, structure in structures.items():
            items: list[Section | Paragraph] = [*structure.sections, *structure.paragraphs]
            for item in items:
                if item.id:
                    place = TargetSpan(doc_id, item.id, item.start, item.end)
                    self._places.setdefault(item.id, {}).setdefault(doc_id, place)

    def find(self, reference: Reference, doc_id: str) -> TargetSpan | None:
        """Return the place of the target of a reference in the document `doc_id`.

        A paragraph that does not exist gives the nearest one above it. Unless the reference names
        it, another document counts only when it is the only one with such an id.
        """
        if reference.external and not (law := self._laws.find(reference.law)):
            return None
        wanted = law if reference.external else reference.document
        for length in range(len(reference.labels), -1, -1):
            above = Reference(0, 0, reference.section, reference.labels[:length])
            places = {
                doc: place
                for doc, place in self._places.get(above.target, {}).items()
                if all(doc in self._places.get(unit, {}) for unit in reference.within)
                and (not wanted or is_named(doc, wanted))
            }
            if doc_id in places:
                return places[doc_id]
            if len(places) == 1:
                return next(iter(places.values()))
        return None


class Laws:
    """The documents of a collection by name, as texts call laws, with and without the year."""

    def __init__(self, titles: Iterable[tuple[str, str]]) -> None:
        """Take pairs of a document's id and its title."""
        self._named: dict[str, set[str]] = {}
        for doc_id, title in titles:
            for name in {_spell(title), _YEAR.sub("", _spell(title))}:
                self._named.setdefault(name, set()).add(doc_id)

    def find(self, law: str) -> str:
        """Return the only document with the name `law`; empty for none or several."""
        found = self._named.get(_spell(law), set()) if law else set()
        return next(iter(found)) if len(found) == 1 else ""


def name_document(structure: Structure) -> str:
    """Return the title of a document: its frontmatter's, or its first top heading."""
    headings = (item.title for item in structure.sections if item.level == 1)
    return structure.frontmatter.title or next(headings, "")


def _spell(title: str) -> str:
    return " ".join(title.lower().removeprefix("the ").split()).rstrip(" .")


def is_named(doc_id: str, name: str) -> bool:
    """Return True if a link's target `name` is the document, by its path's end or its stem."""
    path, wanted = PurePosixPath(doc_id.lower()), PurePosixPath(name.lower())
    parts = [part for part in wanted.parts if part not in ("/", ".", "..")]
    if wanted.suffix != path.suffix:
        path = path.with_suffix("") if path.suffix else path
    return bool(parts) and list(path.parts[-len(parts) :]) == parts
