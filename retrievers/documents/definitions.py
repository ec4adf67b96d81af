"""Definitions: the meanings that a document gives its terms, and the exceptions from them.

Three forms are known. `means`: “X” means …, the term “X” includes …, X shall mean …. `label`:
X: … or X – … at the head of a paragraph. `short name`: the Maritime Authority (“the Authority”).
Outside of definition sections a label counts only where the term is quoted or set in bold.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.retrievers.base.patterns import compile_late
from assay.retrievers.documents.structure.blocks import Block, Section
from assay.retrievers.documents.structure.identifiers import LABELS, join_id
from assay.retrievers.documents.structure.sentences import sentence_ends
from assay.retrievers.documents.structure.structure import Structure

NEAR = 2000  # characters before and after a term that are read for exceptions
Form = Literal["means", "label", "short name"]

_HEADING = compile_late(
    r"\b(?:definitions?|glossar(?:y|ies)|terminology|interpretation|abbreviations?|acronyms?"
    r"|(?:key|defined) terms)\b|^[\W\d]*terms[\W\d]*$",
    re.I,
)
_QUOTED = r"[\"“„«][^\"“”„«»\n]{1,100}[\"”»]"
_TERM = rf"(?:\*\*{_QUOTED}\*\*|{_QUOTED}|\*\*(?![\s*])[^*\n]{{1,100}}\*\*)"
_TERMS = compile_late(_TERM)
# “X”, “Y”, or “Z”, as used in this chapter, …
_MORE = rf"(?:\s*(?:,\s*)?(?:(?:or|and)\s+)?(?:the\s+terms?\s+)?{_TERM}){{0,9}}"
# The comma before an aside may stand within the quotation marks.
_ASIDE = (
    r"(?:\s*\([^()\n]{1,80}\))?"
    r"(?:(?:,|(?<=,[\"”]))[^.;:\"“\n]{1,160},"
    r"|\s+(?:as|when|where|except|unless|for|in|with)\s[^.;:\"“\n]{1,160}?,?)?"
)
# At the head of an entry in a list of definitions any verb will do.
_ENTRY = compile_late(rf"{_MORE}(?!\s+(?:shall|does|do|may)\s+not\b)")
_MODAL = r"(?:(?:shall|will|does|do|may)\s+)?(?:(?:also|only)\s+)?"
_VERB = compile_late(
    rf"{_MORE}{_ASIDE}\s+{_MODAL}(?:(?P<strong>means?|denotes?|describes?|refers?\s+to"
    r"|stands?\s+for|(?:is|are|be)\s+defined|ha(?:s|ve)\s+the\s+(?:same\s+)?meanings?)"
    r"|(?P<weak>is|are|be|includes?)(?!\s+used))\b"
)
_FORMAL = r"shall\s+mean|(?:is|are)\s+defined\s+as|includes,\s+but\s+is\s+not\s+limited\s+to"
_UNMARKED = r"([A-Z][\w’'-]*(?:\s+[\w’'-]+){0,4}?)\s+"
_BARE = compile_late(rf"{_UNMARKED}(?:means|{_FORMAL})\b")
# Within a paragraph, “means” is often no definition: losing the card means paying.
_BARE_FORMAL = compile_late(rf"{_UNMARKED}(?:{_FORMAL})\b")
_SET_OFF = r"\s*(?:\([^()\n]{1,60}\)\s*)?(?::|[–—]|(?<=\s)--?)\s+\S"
_LABEL = compile_late(rf"{_MORE}{_SET_OFF}")
_BARE_LABEL = compile_late(rf"([^\W_][^:.;?!\n–—\"“”*|]{{0,60}}?){_SET_OFF}")
_BRACKET = compile_late(
    r"\((?:(?:the|an?|each|collectively|together|hereinafter|hereafter|herein|referred|known"
    rf"|designated|called|cited|as|to|in\s+this\s+\w+|{_TERM}|or|and)[\s,]+)*\Z"
)
_CALLED = compile_late(
    r"\b(?:referred\s+to|known|designated)(?:\s+(?:in|for)\s+[\w ]{1,40}?)?\s+as"
    r"\s+(?:the\s+|an?\s+)?\Z"
)
_THE_TERM = compile_late(r"\b(?:terms?|words?|phrases?|expressions?)\s+\Z", re.I)
# What may stand before a term at the head of a paragraph.
_HEAD = compile_late(
    rf"\s*(?:[-+*]\s+|\d{{1,3}}[.)]\s+)?{LABELS}\s*(?:\*[^*\n]{{1,80}}\*\s+)?"
    r"(?:[^.;:\"“*\n]{1,120},\s+)?(?:[Tt]he\s+(?:terms?|words?|phrases?)\s+)?"
)
_MARKS = '"“„«'
_NO_TERM = compile_late(
    r"(?:this|that|these|those|it|which|what|he|she|they|you|we|i|by|note|notes|warning|caution"
    r"|danger|attention|important|tip|hint|examples?|repealed|step|see)\b|[qa]\Z",
    re.I,
)
_BLANK_LINE = compile_late(r"\n[ \t]*\r?\n")
_ARTICLE = compile_late(r"^(?:an?|the)\s+", re.I)
_EXCEPTION = compile_late(
    r"\b(?:except(?:ing)?\b|excluding\b|other\s+than\b|unless\b|not\s+including\b"
    r"|with\s+the\s+exception\s+of\b|provided,?\s+(?:however,?\s+)?that\b"
    r"|(?:does|do|shall|may|but|is|are)\s+not\s+(?:include|mean|extend|apply|a|an)\b)[^.;]*",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A term, at offset `at`, and its meaning: characters `start` to `end`.

    `exceptions` are the clauses that take something out of the meaning, as written.
    """

    term: str
    at: int
    start: int
    end: int
    form: Form
    section_id: str
    exceptions: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The term for look-up: lower case, with an underscore between words."""
        return join_id(self.term)


def defines(section: Section) -> bool:
    """Return True if a section, or one above it, is headed as a place of definitions."""
    return any(_HEADING.search(title) for title in section.headings)


def find_definitions(structure: Structure) -> list[Definition]:
    """Return the definitions of a document in order, one per term."""
    found: dict[int, Definition] = {}
    for block in structure.blocks:
        if block.kind in ("paragraph", "indented", "html"):
            for definition in _read(structure, block):
                found.setdefault(definition.at, definition)
    # A label of several paragraphs, as “Breaking:” in a list of changes, is no term.
    labels = Counter(item.id for item in found.values() if item.form == "label")
    return [
        found[i]
        for i in sorted(found)
        if labels[found[i].id] < 2 or defines(structure.section_at(i))
    ]


def _read(structure: Structure, block: Block) -> Iterator[Definition]:
    """Yield the definitions of one block; an indented one may hold several paragraphs."""
    text, section = structure.text, structure.section_at(block.start)
    listed = defines(section)
    begin = block.start
    while begin < block.end:
        blank = _BLANK_LINE.search(text, begin, block.end)
        end = blank.start() if blank else block.end
        ends = [begin, *sentence_ends(text, begin, end), end]
        for i, term, form in _read_paragraph(text, ends, listed):
            name = _ARTICLE.sub("", term.strip(" \t,.;:\"“”„«»*'’‘"))
            marked = term[0] in _MARKS
            if not name or len(name.split()) > 10 or (not marked and _NO_TERM.match(name)):
                continue
            first, last = _extent(structure, ends, i, form)
            near = max(first, i - NEAR), min(last, i + NEAR)
            clauses = tuple(match[0].strip() for match in _EXCEPTION.finditer(text, *near))
            yield Definition(name, i, first, last, form, section.id, clauses)
        begin = blank.end() if blank else block.end


def _read_paragraph(
    text: str, ends: Sequence[int], listed: bool
) -> Iterator[tuple[int, str, Form]]:
    """Yield (offset, term, form) of the definitions in the paragraph whose sentences end there."""
    begin, end = ends[0], ends[-1]
    head = _HEAD.match(text, begin, end)
    body = head.end() if head else begin
    defined = begin
    for match in _TERMS.finditer(text, begin, end):
        i, after = match.span()
        before = text[max(begin, i - 120) : i]
        quoted_before = match.start() < defined
        verb = _VERB.match(text, after, end)
        if quoted_before or (verb and (verb["strong"] or _THE_TERM.search(before))):
            defined = max(defined, verb.end() if verb else 0)
            yield i, match[0], "means"
        elif i == body and _LABEL.match(text, after, end):
            yield i, match[0], "label"
        elif (
            i == body
            and listed
            and match[0][0] in _MARKS
            and (entry := _ENTRY.match(text, after, end))
        ):
            defined = entry.end()
            yield i, match[0], "means"
        elif _names_briefly(before, text[after : after + 1]):
            yield i, match[0], "short name"
    if _TERMS.match(text, body, end):
        return
    if bare := _BARE.match(text, body, end):
        yield body, bare[1], "means"
    elif listed and (label := _BARE_LABEL.match(text, body, end)):
        yield body, label[1], "label"
    for start in ends[1:-1]:
        if bare := _BARE_FORMAL.match(text, start, end):
            yield start, bare[1], "means"


def _names_briefly(before: str, after: str) -> bool:
    """Return True if a term between `before` and `after` is a name given to the words before it."""
    return bool(_CALLED.search(before)) or (
        after in (")", ",", " ") and bool(_BRACKET.search(before))
    )


def _extent(structure: Structure, ends: Sequence[int], i: int, form: Form) -> tuple[int, int]:
    """Return the span of a definition in the paragraph whose sentences end at `ends`.

    One in the first sentence has the whole paragraph, and the sub-paragraphs that its number
    gives it; any other has its sentence.
    """
    sentence = bisect_right(ends, i) - 1
    if form == "short name" or sentence > 0:
        return ends[sentence], ends[min(sentence + 1, len(ends) - 1)]
    paragraphs = structure.paragraphs
    number = bisect_right(paragraphs, i, key=lambda item: item.start) - 1
    if number >= 0 and ends[0] <= paragraphs[number].start:
        return ends[0], paragraphs[number].end
    return ends[0], ends[-1]
