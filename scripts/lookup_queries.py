"""Look-up queries derived from documents alone: what they are called and what stands in them.

No retrieval system is run and nobody is asked, so such queries tell whether a pipeline finds what
is named as the documents name it, and nothing of what people would ask.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from assay.retrievers.base import Document
from assay.retrievers.base.frontmatter import frontmatter_end
from assay.retrievers.base.markdown import is_plain, read_headings, tokenize
from assay.retrievers.base.quotes import QuoteSpan
from scripts.provisions import (
    Provision,
    read_numbered,
    read_paragraphs,
    read_sections,
)

SPREAD = 3  # an identifier in more documents than this is not distinctive
WORD_LENGTH, CUT_LENGTH = 8, 4  # letters of a word worth cutting short, and left of it at least
ASKED = "What does section {} provide?"
CUTS = 3  # words cut short of one document
IDENTIFIER = re.compile(
    r"""(?<!\w)(?:
        [a-z]+\d*(?:[A-Z][a-z0-9]*)+               # camelCase
      | [A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+          # PascalCase
      | [A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+     # snake_case, UPPER_CASE
    )(?!\w)""",
    re.VERBOSE,
)
WORD = re.compile(r"[^\W\d_]+")
# A word of running text: no part of a name, a path or a compound.
PROSE = re.compile(r"(?<![\w./-])[A-Z]?[a-z]+(?![\w/-]|\.\w)")


@dataclass(frozen=True, slots=True)
class Lookup:
    """A query and all places that answer it."""

    type: str
    text: str
    places: tuple[QuoteSpan, ...]


@dataclass(frozen=True, slots=True)
class LookupSet:
    """The look-ups of the wanted types, and by type how many were left out as ambiguous."""

    lookups: tuple[Lookup, ...]
    ambiguous: Mapping[str, int]


def derive(
    documents: Mapping[str, Document], origins: Mapping[str, str], types: Iterable[str]
) -> LookupSet:
    """Return the look-ups of `types` (see `TYPES`) that `documents` give, in their order.

    `origins` has the document that each copy was made of: what stands in both is not ambiguous,
    and either answers. A text is asked once, as the first of the types that has it.
    """
    library = DocumentIndex(documents, origins)
    found: dict[str, Lookup] = {}
    ambiguous: Counter[str] = Counter()
    for type_ in types:
        for text, places in TYPES[type_](library):
            key = _fold(text)
            if not places or key in found:
                ambiguous[type_] += 1
            else:
                found[key] = Lookup(type_, text, tuple(places))
    return LookupSet(tuple(found.values()), dict(ambiguous))


# A text that could be asked, with the places that answer it: none where it is ambiguous.
Candidates = Iterator[tuple[str, Sequence[QuoteSpan]]]


class DocumentIndex:
    """Documents in the order of their ids, and what stands in them."""

    def __init__(self, documents: Mapping[str, Document], origins: Mapping[str, str]) -> None:
        self.documents = dict(sorted(documents.items()))
        self._origins = origins
        self.originals = [doc for id_, doc in self.documents.items() if id_ not in origins]

    def count_origins(self, places: Iterable[QuoteSpan]) -> int:
        """Return in how many documents `places` lie, copies not counted."""
        return len({self.find_origin(place.doc_id) for place in places})

    def find_origin(self, doc_id: str) -> str:
        """Return the document that one is a copy of, or itself."""
        return self._origins.get(doc_id, doc_id)

    @cached_property
    def titles(self) -> Mapping[str, list[QuoteSpan]]:
        """The documents by title, folded: that in the frontmatter or of the first heading."""
        found: defaultdict[str, list[QuoteSpan]] = defaultdict(list)
        for document in self.documents.values():
            if has_title(document):
                found[_fold(document.title)].append(whole(document))
        return found

    @cached_property
    def headings(self) -> Mapping[str, list[QuoteSpan]]:
        """The sections by heading, folded."""
        found: defaultdict[str, list[QuoteSpan]] = defaultdict(list)
        for document in self.documents.values():
            for title, place in list_sections(document):
                found[_fold(title)].append(place)
        return found

    @cached_property
    def words(self) -> Mapping[str, list[QuoteSpan]]:
        """Where each word stands, folded, in names and frontmatter too."""
        found: defaultdict[str, list[QuoteSpan]] = defaultdict(list)
        for document in self.documents.values():
            for word in WORD.finditer(document.text):
                found[word[0].casefold()].append(QuoteSpan(document.id, *word.span()))
        return found

    def keep_bodies(self, places: Iterable[QuoteSpan]) -> list[QuoteSpan]:
        """Return those of `places` that do not lie in frontmatter, which is not searched."""
        return [i for i in places if i.start >= frontmatter_end(self.documents[i.doc_id].text)]


def derive_titles(library: DocumentIndex) -> Candidates:
    """Each title; the whole document answers, so that any passage of it does."""
    for document in library.originals:
        if has_title(document):
            places = library.titles[_fold(document.title)]
            yield document.title, places if library.count_origins(places) == 1 else ()


def derive_headings(library: DocumentIndex) -> Candidates:
    """Each heading but titles and identifiers; its section answers, with the sections below it."""
    for document in library.originals:
        for heading, _ in list_sections(document):
            if _fold(heading) in library.titles or IDENTIFIER.fullmatch(heading):
                continue
            places = library.headings[_fold(heading)]
            once = len({place.doc_id for place in places}) == len(places)
            yield heading, places if once and library.count_origins(places) == 1 else ()


def derive_keywords(library: DocumentIndex) -> Candidates:
    """The keywords of each document, all at once; the documents that carry all of them answer."""
    carried = {
        id_: set(map(_fold, read_keywords(document))) for id_, document in library.documents.items()
    }
    for document in library.originals:
        if wanted := carried[document.id]:
            having = [id_ for id_, keywords in carried.items() if wanted <= keywords]
            places = [whole(library.documents[id_]) for id_ in having]
            yield " ".join(read_keywords(document)), places


def derive_identifiers(library: DocumentIndex) -> Candidates:
    """The identifiers in code that stand in few documents; every place they stand at answers.

    Ambiguous are those that another is spelled like but for capitals.
    """
    standing: defaultdict[str, list[QuoteSpan]] = defaultdict(list)
    for document in library.documents.values():
        for name in IDENTIFIER.finditer(document.text):
            standing[name[0]].append(QuoteSpan(document.id, *name.span()))
    spelled = Counter(map(_fold, standing))
    in_code = dict.fromkeys(
        name for doc in library.originals for code in list_code(doc) for name in
        IDENTIFIER.findall(code)
    )  # fmt: skip
    for name in in_code:
        places = library.keep_bodies(standing[name])
        if 0 < library.count_origins(places) <= SPREAD:
            yield name, places if spelled[_fold(name)] == 1 else ()


def derive_truncated(library: DocumentIndex) -> Candidates:
    """The commonest long words of each document that no other has, cut short.

    At least half is cut, to the fewest letters that begin no word of another document and are no
    word themselves. Every place where a word begins with them answers.
    """
    words = sorted(library.words)
    for document in library.originals:
        body = document.text[frontmatter_end(document.text) :]
        counts = Counter(word.lower() for word in PROSE.findall(body))
        taken: dict[str, list[QuoteSpan]] = {}
        for word in sorted(counts, key=lambda word: (-counts[word], word)):
            if counts[word] < 2 or len(word) < WORD_LENGTH or len(taken) == CUTS:
                continue
            cut, places = _cut(word, document.id, words, library)
            if cut:
                taken.setdefault(cut, places)
        yield from taken.items()


def derive_sections(library: DocumentIndex) -> Candidates:
    """Each section of a statute by its number, in the spellings people use by turns."""
    return _derive_provisions(library, read_sections, ("§ {}", "Section {}", "sec. {}", ASKED))


def derive_paragraphs(library: DocumentIndex) -> Candidates:
    """Each numbered paragraph of a statute by its number and labels, spelled by turns."""
    return _derive_provisions(library, read_paragraphs, ("§ {}", "Section {}", "{}", ASKED))


def derive_titled_sections(library: DocumentIndex) -> Candidates:
    """Each numbered section whose number several documents have, with the title of its own."""
    standing: defaultdict[str, list[QuoteSpan]] = defaultdict(list)
    for document in library.documents.values():
        for section in read_numbered(document):
            standing[section.number].append(section.place)
    for number, places in standing.items():
        if library.count_origins(places) == 1:
            continue
        for origin in dict.fromkeys(library.find_origin(place.doc_id) for place in places):
            document = library.documents[origin]
            here = [place for place in places if library.find_origin(place.doc_id) == origin]
            once = len({place.doc_id for place in here}) == len(here)
            if has_title(document):
                alone = library.count_origins(library.titles[_fold(document.title)]) == 1
                yield f"section {number} of the {document.title}", here if once and alone else ()


def _derive_provisions(
    library: DocumentIndex,
    read: Callable[[Document], Iterator[Provision]],
    spellings: Sequence[str],
) -> Candidates:
    """Yield what `read` finds; ambiguous is what two documents number alike, or one does twice."""
    standing: defaultdict[str, list[QuoteSpan]] = defaultdict(list)
    for document in library.documents.values():
        for provision in read(document):
            labels = "".join(f"({label})" for label in provision.labels)
            standing[f"{provision.number}{labels}"].append(provision.place)
    for number, (name, places) in enumerate(standing.items()):
        once = len({place.doc_id for place in places}) == len(places)
        text = spellings[number % len(spellings)].format(name)
        yield text, places if once and library.count_origins(places) == 1 else ()


TYPES: Mapping[str, Callable[[DocumentIndex], Candidates]] = {
    "title": derive_titles,
    "heading": derive_headings,
    "keyword": derive_keywords,
    "identifier": derive_identifiers,
    "truncated": derive_truncated,
    "section": derive_sections,
    "paragraph": derive_paragraphs,
    "titled_section": derive_titled_sections,
}


def has_title(document: Document) -> bool:
    """Say whether a document names itself, its file's name apart."""
    return document.title not in ("", PurePosixPath(document.id).stem)


def list_sections(document: Document) -> Iterator[tuple[str, QuoteSpan]]:
    """Yield the heading and the place of each section, without white space at its end."""
    if is_plain(document.id):
        return
    for section in read_headings(document.text):
        text = document.text[section.start : section.end]
        if WORD.search(section.title):
            end = section.start + len(text.rstrip())
            yield " ".join(section.title.split()), QuoteSpan(document.id, section.start, end)


def list_code(document: Document) -> Iterator[str]:
    """Yield the blocks and spans of code in a Markdown document."""
    if is_plain(document.id):
        return
    for token in tokenize(document.text[frontmatter_end(document.text) :]):
        if token.type in ("fence", "code_block"):
            yield token.content
        for child in token.children or []:
            if child.type == "code_inline":
                yield child.content


def read_keywords(document: Document) -> list[str]:
    """Return the keywords in the frontmatter: a list, or a text with commas between them."""
    given: Any = document.metadata.get("keywords")
    values = given.split(",") if isinstance(given, str) else given
    if not isinstance(values, list):
        return []
    words = (" ".join(str(value).split()) for value in values)
    return list(dict.fromkeys(filter(None, words)))


def whole(document: Document) -> QuoteSpan:
    """Return the place of all of a document."""
    return QuoteSpan(document.id, 0, len(document.text))


def _cut(
    word: str, doc_id: str, words: Sequence[str], library: DocumentIndex
) -> tuple[str, list[QuoteSpan]]:
    """Return the beginning of `word` that only one document's words have, and where they stand.

    Empty where there is none. `words` is the vocabulary in order.
    """
    for length in range(CUT_LENGTH, len(word) // 2 + 1):
        cut = word[:length]
        first = bisect_left(words, cut)
        last = bisect_left(words, f"{cut}\U0010ffff")
        places = [place for known in words[first:last] for place in library.words[known]]
        alone = all(library.find_origin(place.doc_id) == doc_id for place in places)
        if alone and cut not in library.words:
            return cut, sorted(library.keep_bodies(places), key=lambda i: (i.doc_id, i.start))
    return "", []


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())
