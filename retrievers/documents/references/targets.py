"""Where in a collection the target of a reference stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from assay.retrievers.documents.references.references import Reference
from assay.retrievers.documents.structure.blocks import Section
from assay.retrievers.documents.structure.paragraphs import Paragraph
from assay.retrievers.documents.structure.structure import Structure


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
        for doc_id, structure in structures.items():
            items: list[Section | Paragraph] = [*structure.sections, *structure.paragraphs]
            for item in items:
                if item.id:
                    place = TargetSpan(doc_id, item.id, item.start, item.end)
                    self._places.setdefault(item.id, {}).setdefault(doc_id, place)

    def find(self, reference: Reference, doc_id: str) -> TargetSpan | None:
        """Return where the target of a reference in the document `doc_id` stands.

        A paragraph that is not there gives the nearest one above it. Unless the reference names
        it, another document counts only when it is the only one with such an id.
        """
        if reference.external:
            return None
        for length in range(len(reference.labels), -1, -1):
            above = Reference(0, 0, reference.section, reference.labels[:length])
            places = {
                doc: place
                for doc, place in self._places.get(above.target, {}).items()
                if all(doc in self._places.get(unit, {}) for unit in reference.within)
                and (not reference.document or is_named(doc, reference.document))
            }
            if doc_id in places:
                return places[doc_id]
            if len(places) == 1:
                return next(iter(places.values()))
        return None


def is_named(doc_id: str, name: str) -> bool:
    """Say whether a link's target `name` means the document: by its path's end or its stem."""
    path, wanted = PurePosixPath(doc_id.lower()), PurePosixPath(name.lower())
    parts = [part for part in wanted.parts if part not in ("/", ".", "..")]
    if wanted.suffix != path.suffix:
        path = path.with_suffix("") if path.suffix else path
    return bool(parts) and list(path.parts[-len(parts) :]) == parts
