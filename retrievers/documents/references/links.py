"""References between documents: related documents, wikilinks, links, cross-references."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath
from typing import Literal
from urllib.parse import unquote

from assay.retrievers.documents.references.references import find_references
from assay.retrievers.documents.references.targets import Targets, TargetSpan, is_named
from assay.retrievers.documents.structure.blocks import Link
from assay.retrievers.documents.structure.structure import Structure

LinkKind = Literal["related", "wikilink", "transclusion", "reference", "link"]

_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.I)


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """A link in characters `start` to `end` of a document to a place, maybe in the same one.

    `related` documents are the whole document's.
    """

    kind: LinkKind
    doc_id: str
    start: int
    end: int
    target: TargetSpan


class DocumentNames:
    """The names of the documents of a collection: paths, titles and aliases.

    Case does not matter. A name of several documents names none of them.
    """

    def __init__(self, ids: Iterable[str], titles: Iterable[tuple[str, str]]) -> None:
        """Take the documents' ids, and pairs of an id and a title or alias."""
        self._by_file: dict[str, list[str]] = {}
        for doc_id in ids:
            path = PurePosixPath(doc_id.lower())
            for file in {path.name, path.stem}:
                self._by_file.setdefault(file, []).append(doc_id)
        self._by_title: dict[str, set[str]] = {}
        for doc_id, title in titles:
            self._by_title.setdefault(title.strip().lower(), set()).add(doc_id)

    def find(self, name: str, doc_id: str) -> str | None:
        """Return the document that `name`, written in the document `doc_id`, stands for.

        A path is resolved from the folder of `doc_id` first, else by its end; if several fit, one
        in the same folder is meant.
        """
        file = PurePosixPath(name.strip().lower()).name
        known = [other for other in self._by_file.get(file, ()) if is_named(other, name.strip())]
        path = normpath(join(dirname(doc_id), name.strip())).lower()
        exact = [other for other in known if other.lower() in (path, f"{path}.md")]
        beside = [other for other in known if dirname(other) == dirname(doc_id)]
        titled = list(self._by_title.get(name.strip().lower(), ()))
        return next((found[0] for found in (exact, known, beside, titled) if len(found) == 1), None)


def find_links(structures: Mapping[str, Structure], names: DocumentNames) -> Iterator[DocumentLink]:
    """Yield the links to places in the collection, document by document."""
    targets = Targets(structures)
    for doc_id, structure in structures.items():
        for name in structure.frontmatter.related:
            if place := _find(name, doc_id, structures, names):
                yield DocumentLink("related", doc_id, 0, len(structure.text), place)
        for link in structure.links:
            if place := _find(_target(link), doc_id, structures, names):
                yield DocumentLink(_kind(link, structure), doc_id, link.start, link.end, place)
        for reference in find_references(structure):
            for one in reference.spread():
                if place := targets.find(one, doc_id):
                    yield DocumentLink("reference", doc_id, one.start, one.end, place)


def _find(
    target: str, doc_id: str, structures: Mapping[str, Structure], names: DocumentNames
) -> TargetSpan | None:
    """Return the place that `target` names: a document's heading, or the start of its text."""
    found, anchor = names.find(target, doc_id), ""
    if found is None:  # a name may itself hold a #
        name, _, anchor = target.partition("#")
        found = names.find(name, doc_id) if name.strip() else doc_id
    if found is None or not target.strip():
        return None
    structure = structures[found]
    # Below a heading, Obsidian names the next one after a further #.
    anchor = anchor.rpartition("#")[2].strip().lower()
    for section in structure.sections if anchor else ():
        if anchor in (section.title.lower(), slug(section.title), section.id):
            return TargetSpan(found, section.id, section.start, section.end)
    begin = structure.frontmatter.end
    return TargetSpan(found, "", begin, begin)


def slug(title: str) -> str:
    """Return the anchor of a heading as Markdown pages have it: `4.2 The fee` is `42-the-fee`."""
    return re.sub(r"[^\w\s-]", "", title.strip().lower()).replace(" ", "-")


def _target(link: Link) -> str:
    """Return the target of a link as a person would write it; "" if it leads elsewhere."""
    if link.wiki:
        return link.target
    return "" if _ELSEWHERE.match(link.target) else unquote(link.target)


def _kind(link: Link, structure: Structure) -> LinkKind:
    if not link.wiki:
        return "link"
    paragraph = structure.text[link.start : link.end]
    return "transclusion" if f"![[{link.target}" in paragraph else "wikilink"
