"""Making a native collection of look-ups out of a collection's documents."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from assay.eval.collections.authoring import copies
from assay.eval.collections.authoring.author import JUDGMENTS, QUERIES, Origin
from assay.eval.collections.authoring.known_item_queries import TYPES, Lookup, derive
from assay.eval.collections.card import FILE, Card
from assay.eval.collections.card_files import parse_card, read_card
from assay.eval.collections.catalog import find, list_cards
from assay.eval.collections.check import NO_ANSWER
from assay.eval.collections.digests import seal
from assay.eval.collections.formats.native import SUFFIXES, make_document
from assay.eval.collections.loading import load
from assay.eval.collections.location import find_data
from assay.retrievers.base import AssayError, Document
from assay.retrievers.base.frontmatter import frontmatter_end
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing
from assay.retrievers.store.paths import parse_path

DUPLICATE = "duplicate"
KINDS = (*TYPES, DUPLICATE)
DEFAULT_KINDS = tuple(kind for kind in KINDS if kind != "titled_section")
HEADER = """\
# Made by `assay dataset derive {source} --output {name}{kinds}`; the same call makes it again.
# Nothing here was asked or judged by people: see the description.
"""
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


@dataclass(frozen=True, slots=True)
class Origins:
    """Where the documents come from: what commands call it, its folder, and its card if any."""

    reference: str
    documents: Mapping[str, Document]
    folder: Path | None
    card: Card | None


@dataclass(frozen=True, slots=True)
class DerivedCollection:
    """What was made: queries and ambiguous ones left out, each by type, and the documents."""

    card: Path
    documents: int
    copies: int
    queries: Mapping[str, int]
    ambiguous: Mapping[str, int]


def read_origins(reference: str) -> Origins:
    """Return the documents of a collection, or of a folder of Markdown and text files."""
    folder = parse_path(reference, "documents")
    known = any((folder / name).is_file() for name in (FILE, "corpus.jsonl"))
    if folder.is_dir() and not known and reference not in list_cards():
        return Origins(reference, Origin(folder).read(), folder, None)
    card, _ = find(reference)
    where = find_data(card) if card.has_folder else None
    return Origins(reference, load(reference).by_id, where, card)


def make_lookups(
    origins: Origins, kinds: Sequence[str], output: Path, *, force: bool
) -> DerivedCollection:
    """Write a native collection of the look-ups of `kinds` (see `KINDS`) to `output`.

    Its documents are copies, in Markdown or plain text, with duplicates among them where `kinds`
    has those. Raises AssayError where no query comes of it, or, without `force`, when something
    is there already.
    """
    texts = {_name_file(id_): document.text for id_, document in origins.documents.items()}
    declared = origins.card.known_copies if origins.card else {}
    known = {a: b for a, b in declared.items() if a in texts and texts[a] == texts.get(b)}
    planted = plant(texts) if DUPLICATE in kinds else {}
    texts |= {id_: text for id_, (_, text) in planted.items()}
    # A copy of a copy is one of the original.
    copied = known | {id_: known.get(origin, origin) for id_, (origin, _) in planted.items()}
    derived = derive(
        {id_: make_document(id_, text) for id_, text in texts.items()},
        copied,
        [kind for kind in TYPES if kind in kinds],
    )
    if not derived.lookups:
        raise AssayError(f"{origins.reference}: gives no queries of the kinds {', '.join(kinds)}")
    queries = Counter(lookup.type for lookup in derived.lookups)
    made = DerivedCollection(
        output / FILE, len(texts), len(planted), dict(queries), derived.ambiguous
    )
    exact = {id_: origin for id_, origin in copied.items() if texts[id_] == texts[origin]}
    chosen = "" if tuple(kinds) == DEFAULT_KINDS else f" --kinds {','.join(kinds)}"
    header = HEADER.format(source=origins.reference, name=output.name, kinds=chosen)
    card = header + _render_card(origins, output, "look-ups", _describe(made, kinds), exact)
    rows = list(_number(derived.lookups, queries))
    _write(output, origins.folder, texts, card, rows, force)
    return made


def make_off_topic(origins: Origins, others: Sequence[str], output: Path) -> None:
    """Write a native collection of the queries of `others` over documents that answer none of them.

    A query's id begins with the name of its collection; its one judgment is of grade 0. What is in
    `output` is replaced. Raises AssayError.
    """
    texts = {_name_file(id_): document.text for id_, document in origins.documents.items()}
    rows = [
        (
            {"_id": f"{name}-{query.id}", "text": query.text, "type": NO_ANSWER},
            [{"query_id": f"{name}-{query.id}", "path": next(iter(texts)), "grade": 0}],
        )
        for name in others
        for query in load(name).queries
    ]
    described = f"Queries of {', '.join(others)}, which these documents are not about."
    _write(
        output,
        origins.folder,
        texts,
        _render_card(origins, output, "off topic", described),
        rows,
        True,
    )


def _write(
    output: Path,
    source: Path | None,
    texts: Mapping[str, str],
    card: str,
    rows: Sequence[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]],
    force: bool,
) -> None:
    """Write a sealed collection of queries with their judgments."""
    parse_card(card, output / FILE)  # a wrong name stops here, before anything is written
    with changing(output):
        _check_output(output, source, force)
        copies.write_copies(output, texts)
        write_atomically(output / QUERIES, _jsonl(query for query, _ in rows))
        write_atomically(output / JUDGMENTS, _jsonl(row for _, judged in rows for row in judged))
        write_atomically(output / FILE, card.encode())
        seal(read_card(output / FILE))


def _name_file(doc_id: str) -> str:
    """Return the path of a document's copy. Raises AssayError for an id that can be none."""
    path = PurePosixPath(doc_id)
    if path.is_absolute() or ".." in path.parts or "\\" in doc_id or path.as_posix() != doc_id:
        raise AssayError(f"{doc_id}: this id of a document cannot be the name of a file")
    return doc_id if path.suffix.lower() in SUFFIXES else f"{doc_id}.md"


def _check_output(output: Path, source: Path | None, force: bool) -> None:
    there = [path for path in (output / FILE, output / QUERIES) if path.exists()]
    if there and not force:
        raise AssayError(f"{there[0]}: is there already; --force overwrites it")
    copies.check_copies(output, source, force)


def _number(
    lookups: Iterable[Lookup], counts: Mapping[str, int]
) -> Iterable[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield each look-up as a row of queries and rows of judgments, its id by type and number."""
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


def _render_card(
    origins: Origins,
    output: Path,
    what: str,
    description: str,
    exact: Mapping[str, str] | None = None,
) -> str:
    card = origins.card
    values = {
        "name": output.name,
        "title": f"{card.title if card else origins.reference}: {what}",
        "description": description,
        "licence": card.licence if card else "",
        "source": f"derived from {origins.reference}" + (f": {card.source}" if card else ""),
        "language": card.language if card else "en",
        "format": "native",
        "location": ".",
        "documents": copies.FOLDER,
        "queries": QUERIES,
        "judgments": {"test": JUDGMENTS},
    } | ({"copies": dict(exact)} if exact else {})
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)


def _describe(made: DerivedCollection, kinds: Sequence[str]) -> str:
    parts = ["Derived from the documents alone by a program; no retrieval system was run."]
    parts += [f"{WORDS[kind]} ({made.queries.get(kind, 0)})." for kind in TYPES if kind in kinds]
    left_out = [f"{number} {kind}" for kind, number in made.ambiguous.items()]
    parts += [f"Ambiguous ones were left out: {', '.join(left_out)}."] if left_out else []
    if made.copies:
        parts.append(
            f"{made.copies} of the {made.documents} documents are planted duplicates: below "
            "copies/exact as they are, below copies/edited with two words of each longer line of "
            "prose swapped. What a copy holds answers as the original does."
        )
    return " ".join(parts)


def _jsonl(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()


FOLDER = "copies"
EVERY = 3  # of every three documents one is copied as it is, one edited, one left alone
LINE_WORDS = 12  # a line of fewer words is not edited
FENCE = re.compile(r" {0,3}(?:`{3}|~{3})")
# What is no running text: headings, tables, quotations, indented code, comments, definitions.
MARKED = re.compile(r" {0,3}[#|>\[<]|\t| {4}")
CODE = re.compile(r"`[^`]*`")
PAIR = re.compile(r"(?<![\w`'’./-])([a-z]{2,}) ([a-z]{2,})(?![\w`'’/-])")


def plant(texts: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return copies of every third text, and edited ones of every third, in the order of ids.

    By id, each with the id of its original and its text. Raises AssayError where such ids exist.
    """
    copies = {}
    for number, (id_, text) in enumerate(sorted(texts.items())):
        if number % EVERY == 0:
            copies[f"{FOLDER}/exact/{id_}"] = (id_, text)
        elif number % EVERY == 1:
            copies[f"{FOLDER}/edited/{id_}"] = (id_, edit(text))
    if there := sorted(copies.keys() & texts.keys()):
        raise AssayError(f"{there[0]}: is there already; choose kinds other than duplicate")
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
