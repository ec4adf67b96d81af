"""The structure of a document: sections, blocks, links, numbered paragraphs, frontmatter.

Markdown is read by a CommonMark parser with tables, once a document. All offsets count code
points of the document's text.

Known forms of admonitions: `Note:` at the head of a paragraph, `!!! note` of Python-Markdown with
the text indented below it, and `:::note` up to `:::`. GitHub's `> [!NOTE]` is a quote, which is
kept whole like any. Tabs, `=== "Linux"`, are no admonitions, and have a body of the same form.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from assay.retrievers.base import Document
from assay.retrievers.base.frontmatter import Frontmatter, read_frontmatter
from assay.retrievers.base.markdown import (
    find_headings,
    is_plain,
    line_starts,
    read_links,
    tokenize,
)
from assay.retrievers.documents.structure.blocks import VERBATIM, Block, BlockKind, Link, Section
from assay.retrievers.documents.structure.identifiers import COUNTED, NAMES, identify, join_id
from assay.retrievers.documents.structure.numbered_lines import (
    find_numbered_lines,
    find_numbered_texts,
)
from assay.retrievers.documents.structure.numerals import ROMAN
from assay.retrievers.documents.structure.paragraphs import Paragraph, number_paragraphs

if TYPE_CHECKING:
    from markdown_it.token import Token

from itertools import chain, takewhile

NESTED = 5  # admonitions in admonitions whose indented bodies are read
# The beginnings of their lines, by depth of nesting.
_INDENTS = [re.compile(rf"\A(?: {{0,3}}\t| {{1,4}}){{0,{by}}}") for by in range(1, NESTED + 1)]

_BLOCKS: dict[str, BlockKind] = {
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "list_item_open": "item",
    "fence": "code",
    # Statutes indent paragraphs so far that CommonMark takes them for code.
    "code_block": "indented",
    "table_open": "table",
    "blockquote_open": "quote",
    "html_block": "html",
    "heading_open": "heading",
    "hr": "rule",
}


@dataclass(frozen=True, slots=True)
class Structure:
    """The parts of a document, each kind in order. Sections cover all but the frontmatter."""

    text: str
    frontmatter: Frontmatter
    sections: tuple[Section, ...]
    blocks: tuple[Block, ...]
    links: tuple[Link, ...]
    paragraphs: tuple[Paragraph, ...]

    def section_at(self, offset: int) -> Section:
        """Return the section that holds `offset`, of the text after the frontmatter."""
        return self.sections[bisect_right(self.sections, offset, key=_start) - 1]

    def sections_above(self, section: Section) -> tuple[Section, ...]:
        """Return the sections whose headings are above that of `section`, outermost first."""
        found: list[Section] = []
        level = section.level
        for other in reversed(
            self.sections[: bisect_left(self.sections, section.start, key=_start)]
        ):
            if 0 < other.level < level:
                found.append(other)
                level = other.level
        return tuple(reversed(found))

    def sections_within(self, begin: int, end: int) -> tuple[Section, ...]:
        """Return the sections that share characters with `begin` to `end`."""
        first = max(bisect_right(self.sections, begin, key=_start) - 1, 0)
        return self.sections[first : bisect_left(self.sections, end, key=_start)]


def parse_document(document: Document) -> Structure:
    """Return the structure of `document`; one whose id ends in .txt is plain text."""
    return parse(document.text, plain=is_plain(document.id))


def parse(text: str, plain: bool = False) -> Structure:
    """Return the structure of Markdown, or of plain text, in which nothing is markup.

    Headings inside code, quotes and lists open no section. If there are none but a title, lines
    such as `Section 13. Fees` do.
    """
    if plain:
        sections = find_numbered_lines(text, Section(0, 0, len(text)), ()) if text else ()
        blocks = tuple(Block("paragraph", *span) for span in _split_plain(text))
        paragraphs = _number_all(text, sections, ())
        return Structure(text, Frontmatter(), sections, blocks, (), paragraphs)
    frontmatter = read_frontmatter(text)
    tokens = tokenize(text[frontmatter.end :])
    starts = line_starts(text, frontmatter.end)
    sections = tuple(_read_sections(text, tokens, starts))
    parts, links = _read_parts(text, tokens, starts)
    blocks = tuple(parts)
    verbatim = tuple((block.start, block.end) for block in blocks if block.kind in VERBATIM)
    if sum(section.level > 0 for section in sections) <= 1:
        *before, last = sections or [None]
        sections = (*before, *find_numbered_lines(text, last, verbatim)) if last else ()
        paragraphs = _number_all(text, sections, verbatim)
    else:
        paragraphs = number_paragraphs(text, sections, verbatim)
    return Structure(text, frontmatter, sections, blocks, tuple(links), paragraphs)


def _number_all(
    text: str, sections: tuple[Section, ...], verbatim: tuple[tuple[int, int], ...]
) -> tuple[Paragraph, ...]:
    """Return the numbered paragraphs of a text without headings, those by number alone too."""
    labelled = number_paragraphs(text, sections, verbatim)
    numbered = (
        item
        for item in find_numbered_texts(text, sections)
        if not any(start <= item.start < end for start, end in verbatim)
    )
    return tuple(sorted((*labelled, *numbered), key=lambda item: item.start))


def _start(section: Section) -> int:
    return section.start


def _read_sections(text: str, tokens: "list[Token]", starts: list[int]) -> Iterator[Section]:
    begin = starts[0]
    marks = [
        (heading.start, heading.body, heading.level, heading.title)
        for heading in find_headings(tokens, starts)
    ]
    if not marks or marks[0][0] > begin:
        marks.insert(0, (begin, begin, 0, ""))
    ends = [start for start, *_ in marks[1:]] + [len(text)]
    ids = identify_headings([(level, title) for *_, level, title in marks])
    above: list[tuple[int, str]] = []
    for (start, body, level, title), end, id_ in zip(marks, ends, ids, strict=True):
        if level:
            above = [heading for heading in above if heading[0] < level]
            above.append((level, title))
        if end > start:
            headings = tuple(heading for _, heading in above)
            yield Section(start, body, end, level, title, headings, id_)


def _read_parts(
    text: str, tokens: "list[Token]", starts: Sequence[int], nested: int = 0
) -> tuple[list[Block], list[Link]]:
    """Return the blocks and links of lines, those that are indented below an admonition too."""
    read = list(_read_blocks(text, tokens, starts))
    links = [
        Link(found.target, found.text, starts[found.first], starts[found.last], found.wiki)
        for found in read_links(tokens)
    ]
    bodies = find_bodies(text, read) if nested < NESTED else set()
    blocks = []
    for block in mark_admonitions(text, read):
        if block.start not in bodies:
            blocks.append(block)
            continue
        first, last = (bisect_left(starts, i) for i in (block.start, block.end))
        lines = starts[first : last + 1]
        body = "".join(_INDENTS[nested].sub("", text[begin:end]) for begin, end in pairwise(lines))
        within, pointing = _read_parts(text, tokenize(body), lines, nested + 1)
        blocks += [replace(item, depth=item.depth + block.depth) for item in within]
        links += pointing
    return blocks, sorted(links, key=attrgetter("start"))


def _read_blocks(text: str, tokens: "list[Token]", starts: Sequence[int]) -> Iterator[Block]:
    for token in tokens:
        kind = _BLOCKS.get(token.type)
        if kind and token.map:
            first, last = token.map
            end = starts[first] + len(text[starts[first] : starts[last]].rstrip())
            language = token.info.split()[0] if kind == "code" and token.info.strip() else ""
            yield Block(kind, starts[first], end, token.level, language)


def _split_plain(text: str) -> Iterator[tuple[int, int]]:
    starts = line_starts(text, 0)
    begin: int | None = None
    for start, end in pairwise(starts):
        if text[start:end].strip():
            begin = start if begin is None else begin
        elif begin is not None:
            yield begin, start
            begin = None
    if begin is not None:
        yield begin, len(text)


LEAST = 3  # headings of a count that does not begin at its beginning


@dataclass(frozen=True, slots=True)
class _Mark:
    """Heading number `place`, below heading `above`; its `number`, and the words after that."""

    place: int
    above: int
    number: int
    words: str


def identify_headings(headings: Sequence[tuple[int, str]]) -> list[str]:
    """Return the ids of the sections under `headings`, pairs of a level and a title, in order."""
    ids = [identify(title) for _, title in headings]
    for mark in _find_counted(headings):
        match = COUNTED.match(headings[mark.place][1])
        if match is None:
            continue
        # (3) under Article 12 is Article 12(3).
        within = ids[mark.above] if match["open"] and mark.above >= 0 else ""
        named = within.partition("_")[0] in ("sec", *NAMES)
        ids[mark.place] = join_id(within if named else "sec", match["number"])
    return ids


def _find_counted(headings: Sequence[tuple[int, str]]) -> list[_Mark]:
    """Return the headings whose numbers count on, in order."""
    counts: dict[tuple[int, str], list[list[_Mark]]] = defaultdict(list)
    path: list[tuple[int, int]] = []  # the levels and places of the headings above
    for place, (level, title) in enumerate(headings):
        path = [item for item in path if item[0] < level]
        above = path[-1][1] if path else -1
        path.append((level, place))
        match = COUNTED.match(title)
        if match is None:
            continue
        number = match["number"].lower()
        value = int(number) if number.isdigit() else ROMAN.get(number, -1)
        mark = _Mark(place, above, value, match["rest"])
        style = f"{'digits' if number.isdigit() else 'Roman'}{match['open'] or ''}"
        runs = counts[level, style]
        for run in reversed(runs):
            if value == run[-1].number + 1 and (above == run[-1].above or len(run) > 1):
                run.append(mark)
                break
        else:
            runs.append([mark])
    runs = [run for of_level in counts.values() for run in of_level if _are_numbers(run)]
    return sorted((mark for run in runs for mark in run), key=lambda mark: mark.place)


def _are_numbers(run: Sequence[_Mark]) -> bool:
    """Return True if numbers that count on are those of headings, and not of things."""
    if len(run) < (2 if run[0].number in (0, 1) else LEAST):
        return False
    words = [mark.words.lstrip("\"“'*_`([ ") for mark in run]
    small = sum(text[:1].islower() for text in words)
    firsts = {text.split()[0].lower().rstrip("s.,:;") for text in words if text}
    return 2 * small < len(run) and len(firsts) > 1


_NAMED = re.compile(
    r"[ \t]*[*_]{0,3}(?:note|warning|tip|important|caution|danger|attention|hint)[*_]{0,3}:", re.I
)
_INDENTED = re.compile(r"[ \t]*(?:!!!|\?\?\?\+?)[ \t]+\w")
_TAB = re.compile(r"[ \t]*===[!+]?[ \t]+[\"']")
_FENCED = re.compile(r"[ \t]*:{3,}[ \t]*(?:\{[ \t]*)?\w")
_FENCE_END = re.compile(r"^[ \t]*:{3,}[ \t]*\Z", re.M)


def mark_admonitions(text: str, blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield the blocks of `text`, and before those of an admonition outside lists and quotes a
    block for the whole of it; they are one level deeper, as the blocks of a quote are.
    """
    inside = 0
    for number, block in enumerate(blocks):
        end = _find_end(text, blocks, number)
        if end:
            yield replace(block, kind="admonition", end=end, depth=int(block.start < inside))
            inside = max(inside, end)
        yield replace(block, depth=block.depth + 1) if block.start < inside else block


def find_bodies(text: str, blocks: Sequence[Block]) -> set[int]:
    """Return the starts of bodies of admonitions and tabs that are indented like code."""
    found = set()
    for number, block in enumerate(blocks):
        if _is_open(block) and (
            _INDENTED.match(text, block.start) or _TAB.match(text, block.start)
        ):
            found |= {other.start for other in _list_indented(blocks, number)}
    return found


def _list_indented(blocks: Sequence[Block], number: int) -> Iterator[Block]:
    later = (blocks[i] for i in range(number + 1, len(blocks)))
    return takewhile(lambda other: other.kind == "indented", later)


def _is_open(block: Block) -> bool:
    return block.kind == "paragraph" and not block.depth


def _find_end(text: str, blocks: Sequence[Block], number: int) -> int:
    """Return the end of the admonition that opens with block `number`; 0 if none does."""
    block = blocks[number]
    if not _is_open(block):
        return 0
    if _NAMED.match(text, block.start):
        return block.end
    if _INDENTED.match(text, block.start):
        indented = _list_indented(blocks, number)
        return max((other.end for other in indented), default=block.end)
    if _FENCED.match(text, block.start):
        later = (blocks[i] for i in range(number + 1, len(blocks)))
        inner = takewhile(lambda other: not _opens(text, other), later)
        closed = (other.end for other in chain([block], inner) if _closes(text, other))
        return next(closed, 0)
    return 0


def _opens(text: str, block: Block) -> bool:
    return block.kind == "heading" or _FENCED.match(text, block.start) is not None


def _closes(text: str, block: Block) -> bool:
    return block.kind == "paragraph" and bool(_FENCE_END.search(text, block.start, block.end))
