r"""The rules that every chunker keeps, as checks for any implementation."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from assay.retrievers.base import Chunk, Document
from assay.retrievers.conformance import make_rules, require
from assay.retrievers.documents.chunk_kinds import KINDS
from assay.retrievers.documents.chunkers.base import Chunker, is_intact
from assay.retrievers.documents.structure.blocks import WHOLE, Section
from assay.retrievers.documents.structure.structure import Structure, parse_document
from assay.retrievers.documents.tokens import Tokenize

_SENTENCE = "The harbour master keeps a list of berths and their depths. "
_CODE = "```python\n# not a heading\nfor berth in berths:\n\n    print(berth.depth)\n```\n"
_TABLE = "| berth | depth |\n|---|---|\n| 1 | 4.2 m |\n| 2 | 5.0 m |\n"

_NOTES = (
    f"> [!NOTE]\n> {_SENTENCE}\n> {_SENTENCE}\n\n!!! tip\n    {_SENTENCE * 2}\n\n"
    f":::info\nYes.\n\nNo.\n:::\n\nWarning: {_SENTENCE * 2}\n"
)

_TEXTS = {
    "sections": "# Berths\n\n## North\n\nOne.\n\n## South\n\nTwo.\n\n### Depths\n\nThree.\n",
    "frontmatter": "---\ntitle: Berths\ntags: [north]\n---\n# Berths\n\nOne.\n",
    "broken": "---\ntitle: [\n---\n\nText after broken frontmatter.\n",
    "preamble": "\n\nBefore any heading.\n\nSetext\n======\n\nAfter.\n",
    "long": "# Long\n\n" + _SENTENCE * 60 + "\n\n## Next\n\n" + _SENTENCE * 3,
    "one line": "word " * 400,
    "one word": "x" * 5000,
    "blocks": f"# Blocks\n\n{_SENTENCE * 4}\n\n{_CODE}\n{_SENTENCE * 4}\n\n{_TABLE}\nEnd.\n" * 3,
    "large code": "# Code\n\n```\n" + "a = b + c\n" * 200 + "```\n\nAfter.\n",
    "list": "# List\n\n" + "".join(f"- item {n}: {_SENTENCE}\n" for n in range(40)),
    "repeated": "## Same\n\nThe same.\n\n" * 5,
    "bare": "# A\n\n## B\n\n### C\n\nText.\n\n## D\n\n# E\n",
    "statute": "# § 42–1.01. Fees.\n\n(a) One.\n\n  (1) Two.\n\n    (A) Three.\n\n(b) Four.\n",
    "windows": "# CRLF\r\n\r\n- one\r\n- two\r\n\r\n## Next\r\n\r\nText.\r\n",
    "twin": "# Twin\n\nThis stands in two documents.\n",
    "other twin": "# Twin\n\nThis stands in two documents.\n",
    "notes": f"# Notes\n\n{_SENTENCE * 2}\n\n{_NOTES}\n{_SENTENCE * 3}\n\n" * 3,
    "no headings": f"{_SENTENCE * 5}\n\n" * 40,
    "one paragraph": _SENTENCE * 200,
    "unclosed": "# Open\n\n```\ncode without an end\n\n# not a heading\n",
    "foreign": "# Größe\n\nNaïve cafés. 東京の港は深い。大きい。\u2028Line separator.\n",
    "odd": "\ufeff# BOM\n\n\x00 and \x0b and \x0c.\n",
    "blank": " \n\t\n",
    "empty": "",
}
DOCUMENTS = (
    *(Document(f"{name}.md", text) for name, text in _TEXTS.items()),
    Document("plain.txt", "# no heading in plain text\n\nFirst.\n\n\nSecond.\n"),
)


def tokenize(text: str) -> list[tuple[int, int]]:
    """Return the spans of words and signs."""
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


@dataclass(frozen=True)
class Cutting:
    """The subject of the rules: a chunker, the documents it cuts, and how tokens are counted."""

    chunker: Chunker
    documents: Sequence[Document] = DOCUMENTS
    tokenize: Tokenize = tokenize

    def cut(self) -> Iterator[tuple[Document, list[Chunk]]]:
        """Yield each document with its chunks."""
        for document in self.documents:
            yield document, self.chunker.chunk(document, self.tokenize)


def rebuilds_the_document(cutting: Cutting) -> None:
    """The chunks, overlaps left out, are the document: it has the same SHA-256."""
    for document, chunks in cutting.cut():
        require(is_intact(document, chunks), f"{document.id}: its chunks do not rebuild it")


def texts_are_true(cutting: Cutting) -> None:
    """A chunk's text is what its document holds between its offsets, and is not empty."""
    for document, chunks in cutting.cut():
        for chunk in chunks:
            held = document.text[chunk.start : chunk.end]
            require(chunk.doc_id == document.id, f"{document.id}: a chunk of {chunk.doc_id}")
            require(bool(chunk.text), f"{document.id}: an empty chunk at {chunk.start}")
            require(chunk.text == held, f"{document.id}: text at {chunk.start} is another")


def chunks_stand_in_order(cutting: Cutting) -> None:
    """Each chunk begins and ends after the one before."""
    for document, chunks in cutting.cut():
        for one, other in pairwise(chunks):
            ordered = one.start < other.start and one.end < other.end
            require(ordered, f"{document.id}: {_span(one)} stands before {_span(other)}")


def overlaps_are_bounded(cutting: Cutting) -> None:
    """No chunk repeats more tokens of the one before than the chunker says."""
    for document, chunks in cutting.cut():
        for one, other in pairwise(chunks):
            shared = len(cutting.tokenize(document.text[other.start : one.end]))
            fine = shared <= cutting.chunker.overlap
            require(fine, f"{document.id}: an overlap of {shared} tokens")


def none_is_over_the_limit(cutting: Cutting) -> None:
    """No chunk has more tokens than the chunker's limit."""
    for document, chunks in cutting.cut():
        for chunk in chunks:
            size = len(cutting.tokenize(chunk.text))
            fits = cutting.chunker.limit is None or size <= cutting.chunker.limit
            require(fits, f"{document.id}: {size} tokens at {chunk.start}")


def ids_are_digests(cutting: Cutting) -> None:
    """An id is 24 hex digits."""
    for document, chunks in cutting.cut():
        for chunk in chunks:
            fine = re.fullmatch(r"[0-9a-f]{24}", chunk.id)
            require(fine is not None, f"{document.id}: the id {chunk.id!r}")


def ids_never_collide(cutting: Cutting) -> None:
    """No two chunks of any documents share an id, be their texts the same."""
    ids = Counter(chunk.id for _, chunks in cutting.cut() for chunk in chunks)
    twice = [id_ for id_, number in ids.items() if number > 1]
    require(not twice, f"ids of several chunks: {twice}")


def ids_keep_the_order(cutting: Cutting) -> None:
    """Parts in another order make another chunk: an id is not made of sorted parts."""
    for document in cutting.documents:
        one = document.text[: len(document.text) // 2]
        swapped = replace(document, text=f"Beta. Alpha.\n{one}")
        straight = replace(document, text=f"Alpha. Beta.\n{one}")
        ids = [cutting.chunker.chunk(item, cutting.tokenize)[0].id for item in (straight, swapped)]
        require(ids[0] != ids[1], f"{document.id}: the order of its parts is not in the id")


def same_input_same_chunks(cutting: Cutting) -> None:
    """Cutting again, in another order, or with another such chunker gives the same chunks."""
    other = Cutting(
        cutting.chunker.model_copy(deep=True), cutting.documents[::-1], cutting.tokenize
    )
    again = {item.id: chunks for item, chunks in other.cut()}
    for document, chunks in cutting.cut():
        require(chunks == again[document.id], f"{document.id}: cut in two ways")


def edits_stay_local(cutting: Cutting) -> None:
    """An edit in a section changes no chunk outside the chunker's scope of that section."""
    for document in cutting.documents:
        structure = parse_document(document)
        before = cutting.chunker.chunk(document, cutting.tokenize)
        for section in _sample(structure.sections):
            begin, end = cutting.chunker.scope(structure, section.start)
            near = [chunk for chunk in before if chunk.start < end and begin < chunk.end]
            after = cutting.chunker.chunk(_amend(document, section.end), cutting.tokenize)
            kept = {chunk.id for chunk in after}
            lost = [chunk for chunk in before if chunk.id not in kept]
            far = Counter(chunk.text for chunk in lost) - Counter(chunk.text for chunk in near)
            problem = f"{document.id}: an edit of {section.title!r} changed {list(far)[:1]}"
            require(not far, problem)


def frontmatter_is_told_apart(cutting: Cutting) -> None:
    """Frontmatter is in chunks of that kind, and nothing else is."""
    for document, chunks in cutting.cut():
        end = parse_document(document).frontmatter.end
        for chunk in chunks:
            right = chunk.end <= end if chunk.kind == "frontmatter" else chunk.start >= end
            require(right, f"{document.id}: {_span(chunk)} is of the kind {chunk.kind}")


def blocks_stay_whole(cutting: Cutting) -> None:
    """Code, tables, quotes and admonitions within the limit are not cut, if the chunker says so."""
    if not cutting.chunker.keeps_blocks or cutting.chunker.limit is None:
        return
    for document, chunks in cutting.cut():
        ends = {chunk.end for chunk in chunks}
        for block in parse_document(document).blocks:
            size = len(cutting.tokenize(document.text[block.start : block.end]))
            if block.kind in WHOLE and size <= cutting.chunker.limit:
                cut = [end for end in ends if block.start < end < block.end]
                require(not cut, f"{document.id}: a block of {size} tokens is cut at {cut}")


def text_without_headings_is_cut(cutting: Cutting) -> None:
    """Where no heading stands, no chunk is over the chunker's target but what must stay whole."""
    for document, chunks in cutting.cut():
        structure = parse_document(document)
        if cutting.chunker.target is None or any(section.level for section in structure.sections):
            continue
        whole = [(block.start, block.end) for block in structure.blocks if block.kind in WHOLE]
        for chunk in chunks:
            size = len(cutting.tokenize(chunk.text))
            kept = any(begin < chunk.end and chunk.start < end for begin, end in whole)
            fine = kept or chunk.kind == "frontmatter" or size <= cutting.chunker.target
            require(fine, f"{document.id}: {size} tokens at {chunk.start} without a heading")


def places_are_true(cutting: Cutting) -> None:
    """Kind, section, level, headings, anchors and parent are what the document's structure says."""
    for document, chunks in cutting.cut():
        structure = parse_document(document)
        for chunk in chunks:
            where = f"{document.id}: {_span(chunk)}"
            require(chunk.kind in KINDS, f"{where} is of the kind {chunk.kind!r}")
            if chunk.parent:
                inside = chunk.parent[0] <= chunk.start and chunk.end <= chunk.parent[1]
                require(inside, f"{where} is not in its parent {chunk.parent}")
            if chunk.kind != "frontmatter":
                _check_place(structure, chunk, where)


RULES = make_rules(
    rebuilds_the_document,
    texts_are_true,
    chunks_stand_in_order,
    overlaps_are_bounded,
    none_is_over_the_limit,
    ids_are_digests,
    ids_never_collide,
    ids_keep_the_order,
    same_input_same_chunks,
    edits_stay_local,
    frontmatter_is_told_apart,
    blocks_stay_whole,
    text_without_headings_is_cut,
    places_are_true,
)


def _check_place(structure: Structure, chunk: Chunk, where: str) -> None:
    within = structure.sections_within(chunk.start, chunk.end)
    require(
        (chunk.section_id, chunk.level) in {(section.id, section.level) for section in within},
        f"{where} is not in the section {chunk.section_id!r} of level {chunk.level}",
    )
    depth = len(chunk.headings)
    require(
        any(section.headings[:depth] == chunk.headings for section in within),
        f"{where} does not stand under {chunk.headings}",
    )
    beginning = Counter(
        item.id
        for items in (structure.sections, structure.paragraphs)
        for item in items
        if item.id and chunk.start <= item.start < chunk.end
    )
    require(Counter(chunk.anchors) == beginning, f"{where} has the anchors {chunk.anchors}")


def _amend(document: Document, end: int) -> Document:
    """Return `document` with a paragraph more at the end of the section that ends at `end`."""
    text = f"{document.text[:end]}\n\nAn amendment of some words.\n\n{document.text[end:]}"
    return replace(document, text=text)


def _sample(items: Sequence[Section]) -> Sequence[Section]:
    """Return the first, the middle and the last of `items`."""
    return [items[i] for i in sorted({0, len(items) // 2, len(items) - 1}) if 0 <= i < len(items)]


def _span(chunk: Chunk) -> str:
    return f"the chunk from {chunk.start} to {chunk.end}"
