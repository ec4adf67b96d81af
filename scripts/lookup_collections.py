"""Makes the collections of look-ups that `configs/targets.yaml` measures, from documents alone.

`ASSAY_LOOKUPS=FOLDER python -m scripts.lookup_collections [NAME…]` writes the data of each to
FOLDER/NAME and its card to `datasets/NAME`, the same again from the same documents.
"""

import hashlib
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from assay.eval.collections.authoring.author import JUDGMENTS, QUERIES
from assay.eval.collections.authoring.copies import FOLDER as DOCUMENTS
from assay.eval.collections.authoring.copies import write_copies
from assay.eval.collections.card import FILE
from assay.eval.collections.catalog import read_card
from assay.eval.collections.check import NO_ANSWER
from assay.eval.collections.collection import Collection
from assay.eval.collections.digests import seal
from assay.eval.collections.formats.native import NativeCard, make_document
from assay.eval.collections.formats.rows import render_rows
from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError
from assay.retrievers.base.frontmatter import frontmatter_end
from assay.retrievers.store.files import write_atomically
from scripts.lookup_queries import Lookup, LookupSet, derive

VARIABLE = "ASSAY_LOOKUPS"
HEADER = "# Made by `python -m scripts.lookup_collections {name}`; the same call makes it again.\n"
DUPLICATE = "duplicate"
# The kinds of look-ups, and the collection whose documents they are made of, by name.
LOOKUPS: Mapping[str, tuple[str, Sequence[str]]] = {
    "tarnwick_lookups": ("tarnwick", ("title", "heading", "keyword", "identifier")),
    "tarnwick_truncated": ("tarnwick", ("truncated",)),
    "tarnwick_copies": ("tarnwick", ("title", DUPLICATE)),
    "tarnwick_law": ("tarnwick", ("section", "paragraph")),
    "tarnwick_shared": ("tarnwick", ("titled_section",)),
    "dccode_t42_law": ("dccode_t42", ("section", "paragraph")),
}
# Likewise the collections whose queries are about something else than the documents.
OFF_TOPIC: Mapping[str, tuple[str, Sequence[str]]] = {
    "tarnwick_off_topic": ("tarnwick", ("scifact", "anthropic_codebase", "dccode_t42")),
    "tarnwick_off_topic_science": ("tarnwick", ("scifact",)),
    "tarnwick_off_topic_code": ("tarnwick", ("anthropic_codebase",)),
    "tarnwick_off_topic_law": ("tarnwick", ("dccode_t42",)),
}
WORDS = {
    "title": "title: each title; answered by the whole document, so that any passage of it does",
    "heading": "heading: each heading that stands once; answered by its section",
    "keyword": "keyword: the keywords of each frontmatter; answered by the documents with all",
    "identifier": "identifier: the names in code that are in few documents; answered wherever "
    "they stand",
    "truncated": "truncated: the beginning of a long word that one document alone has; answered "
    "wherever words begin with it",
    "section": "section: each section that its heading numbers with a §; answered by it",
    "paragraph": "paragraph: each numbered paragraph of those, where indentation tells what stands "
    "under what; answered by it",
    "titled_section": "titled_section: each numbered section whose number several documents have, "
    "with its document's title; answered by it",
}


def main(names: Sequence[str]) -> None:
    """Make the collections that are named; all where none is. Raises AssayError."""
    if not os.environ.get(VARIABLE):
        raise AssayError(f"{VARIABLE} is not set; it names the folder that their data goes to")
    for name in names or (*LOOKUPS, *OFF_TOPIC):
        if name in LOOKUPS:
            make_lookups(name, *LOOKUPS[name])
        else:
            make_off_topic(name, *OFF_TOPIC[name])


def make_lookups(name: str, source: str, kinds: Sequence[str]) -> None:
    """Write a collection of the look-ups of `kinds` that the documents of `source` give.

    Its documents are copies, with duplicates among them where `kinds` has those.
    """
    collection = load(source)
    texts = {document.id: document.text for document in collection.documents}
    card = collection.card
    declared = card.copies if isinstance(card, NativeCard) else {}
    known = {a: b for a, b in declared.items() if a in texts and texts[a] == texts.get(b)}
    planted = plant(texts) if DUPLICATE in kinds else {}
    texts |= {id_: text for id_, (_, text) in planted.items()}
    # A copy of a copy is one of the original.
    copied = known | {id_: known.get(origin, origin) for id_, (origin, _) in planted.items()}
    types = [kind for kind in kinds if kind != DUPLICATE]
    made = derive({id_: make_document(id_, text) for id_, text in texts.items()}, copied, types)
    rows = list(_number(made.lookups))
    exact = {id_: origin for id_, origin in copied.items() if texts[id_] == texts[origin]}
    described = _describe(made, types, len(texts), len(planted))
    _write(name, collection, texts, "look-ups", described, rows, {"copies": exact} if exact else {})


def make_off_topic(name: str, source: str, others: Sequence[str]) -> None:
    """Write a collection of the queries of `others` over documents that answer none of them.

    A query's id begins with the name of its collection; its one judgment is of grade 0.
    """
    collection = load(source)
    texts = {document.id: document.text for document in collection.documents}
    rows = [
        (
            {"_id": f"{other}-{query.id}", "text": query.text, "type": NO_ANSWER},
            [{"query_id": f"{other}-{query.id}", "path": next(iter(texts)), "grade": 0}],
        )
        for other in others
        for query in load(other).queries
    ]
    described = f"Queries of {', '.join(others)}, which these documents are not about."
    _write(name, collection, texts, "off topic", described, rows, {})


def _write(
    name: str,
    source: Collection,
    texts: Mapping[str, str],
    what: str,
    description: str,
    rows: Sequence[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]],
    copies: Mapping[str, Any],
) -> None:
    """Write queries with their judgments, the documents, and a sealed card."""
    folder, path = Path(os.environ[VARIABLE], name), Path("datasets", name, FILE)
    values = {
        "name": name,
        "title": f"{source.card.title}: {what}",
        "description": description,
        "licence": source.card.licence,
        "source": f"derived from {source.card.name}: {source.card.source}",
        "language": source.card.language,
        "format": "native",
        "location": f"${VARIABLE}/{name}",
        "documents": DOCUMENTS,
        "queries": QUERIES,
        "judgments": {"test": JUDGMENTS},
        **copies,
    }
    card = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)
    write_copies(folder, texts)
    write_atomically(folder / QUERIES, render_rows(query for query, _ in rows).encode())
    judgments = render_rows(row for _, judged in rows for row in judged)
    write_atomically(folder / JUDGMENTS, judgments.encode())
    write_atomically(path, f"{HEADER.format(name=name)}{card}".encode())
    seal(read_card(path))


def _number(lookups: Sequence[Lookup]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield each look-up as a row of queries and rows of judgments, its id by type and number."""
    counts = Counter(lookup.type for lookup in lookups)
    numbers: Counter[str] = Counter()
    for lookup in lookups:
        numbers[lookup.type] += 1
        width = len(str(counts[lookup.type]))
        id_ = f"{lookup.type}-{numbers[lookup.type]:0{width}}"
        query = {"_id": id_, "text": lookup.text, "type": lookup.type}
        judged = [
            {"query_id": id_, "path": place.doc_id}
            | ({} if lookup.type in ("title", "keyword") else _span(place.start, place.end))
            for place in lookup.places
        ]
        yield query, judged


def _span(start: int, end: int) -> dict[str, int]:
    return {"start": start, "end": end}


def _describe(made: LookupSet, kinds: Sequence[str], documents: int, copies: int) -> str:
    counts = Counter(lookup.type for lookup in made.lookups)
    parts = ["Derived from the documents alone by a program; no retrieval system was run."]
    parts += [f"{WORDS[kind]} ({counts[kind]})." for kind in kinds]
    left_out = [f"{number} {kind}" for kind, number in made.ambiguous.items()]
    parts += [f"Ambiguous ones were left out: {', '.join(left_out)}."] if left_out else []
    if copies:
        parts.append(
            f"{copies} of the {documents} documents are planted duplicates: below copies/exact as "
            "they are, below copies/edited with two words of each longer line of prose swapped. "
            "What a copy holds answers as the original does."
        )
    return " ".join(parts)


EVERY = 3  # of every three documents one is copied as it is, one edited, one left alone
LINE_WORDS = 12  # a line of fewer words is not edited
FENCE = re.compile(r" {0,3}(?:`{3}|~{3})")
# What is no running text: headings, tables, quotations, indented code, comments, definitions.
MARKED = re.compile(r" {0,3}[#|>\[<]|\t| {4}")
CODE = re.compile(r"`[^`]*`")
PAIR = re.compile(r"(?<![\w`'’./-])([a-z]{2,}) ([a-z]{2,})(?![\w`'’/-])")


def plant(texts: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return copies of every third text, and edited ones of every third, in the order of ids.

    By id, each with the id of its original and its text.
    """
    copies = {}
    for number, (id_, text) in enumerate(sorted(texts.items())):
        if number % EVERY == 0:
            copies[f"copies/exact/{id_}"] = (id_, text)
        elif number % EVERY == 1:
            copies[f"copies/edited/{id_}"] = (id_, edit(text))
    return copies


def edit(text: str) -> str:
    """Return `text` with two neighbouring words of each longer line of prose changed in place.

    Headings, code, tables, names and the frontmatter stay, and so do all offsets.
    """
    body = frontmatter_end(text)
    lines, fenced = [], False
    for line in text[body:].splitlines(keepends=True):
        fenced ^= bool(FENCE.match(line))
        prose = not fenced and not MARKED.match(line) and len(line.split()) >= LINE_WORDS
        lines.append(_swap(line) if prose else line)
    return text[:body] + "".join(lines)


def _swap(line: str) -> str:
    """Return `line` with one pair of words swapped, which its digest chooses."""
    code = [span.span() for span in CODE.finditer(line)]
    pairs = [
        pair
        for pair in PAIR.finditer(line)
        if pair[1] != pair[2] and not any(a < pair.end() and pair.start() < b for a, b in code)
    ]
    if not pairs:
        return line
    number = int.from_bytes(hashlib.sha256(line.encode("utf-8", "surrogatepass")).digest()[:8])
    pair = pairs[number % len(pairs)]
    return f"{line[: pair.start()]}{pair[2]} {pair[1]}{line[pair.end() :]}"


if __name__ == "__main__":
    main(sys.argv[1:])
