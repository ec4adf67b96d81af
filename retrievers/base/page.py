"""A Markdown document as its page reads, and where in the source each part of it stands."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock, reference
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from assay.retrievers.base.frontmatter import frontmatter_end
from assay.retrievers.base.markdown import line_starts, read_wikilink

LONGEST = 2000  # characters of a tag or an expression
NOTE = re.compile(r"\[\^([^\[\]\s]+)\]")
ATTRIBUTES = re.compile(r"\{:?[ ]*[#.][\w-][^{}\n]*\}")
EXPRESSION = re.compile(r"\{[^{}*`\[\]<>&\\\n]*\}")  # without markup, which is read as such
CONTAINER = re.compile(r":{3,}[ ]*\{?[\w-]*\}?")
STRING = re.compile(r"""\{[ ]*(["'])(.*)\1[ ]*\}""")
TAG_NAME = re.compile(r"</?(?:[A-Za-z][\w.:-]*|(?=>))")
BRACES = re.compile(r"[{}]")
COMMENT = ("{/*", "*/}")
# A paragraph of MDX that its page does not show.
MODULE = re.compile(
    r"import(?:\s*+[{*\"']|\s++[\w$]++\s*+(?:,|from\b))"
    r"|export\s*+(?:[{*]|(?:default|const|let|function|async|class)\b)"
)
# Tags of HTML that part the words around them.
PARTING = re.compile(
    r"</?(?:address|article|aside|blockquote|br|caption|dd|details|div|dl|dt|fieldset|figcaption"
    r"|figure|footer|form|h[1-6]|header|hr|img|legend|li|main|nav|ol|option|p|pre|section|summary"
    r"|table|tbody|td|tfoot|th|thead|tr|ul)\b",
    re.I,
)
SILENT = re.compile(r"\s*<(?:script|style)\b", re.I)


class PagePart(NamedTuple):
    """A piece of a page, and its span in the source.

    The kinds are `text`, which every page shows; `marker`, the number of an item of a list; `alt`,
    the text instead of an image; `gap`, the space that a tag of HTML makes; `mark`, syntax that
    pages show as written if they do not know it: marks of footnotes and containers, attributes,
    JSX; and their texts on pages that know it: `number` and `bracketed` of a footnote, `value` of
    an expression.
    """

    text: str
    start: int
    end: int
    kind: str = "text"


class _PlacedState(StateInline):
    """The state of reading inline text; each token notes its beginning in `meta`."""

    begin = 0  # of the text that no token holds yet

    @cached_property
    def last_comment(self) -> int:
        """The end of the last JSX comment, -1 if there is none."""
        return self.src.rfind(COMMENT[1])

    def push(self, ttype: str, tag: str, nesting: Any) -> Token:
        token = super().push(ttype, tag, nesting)
        token.meta["at"] = self.pos
        return token

    def pushPending(self) -> Token:  # noqa: N802
        token = super().pushPending()
        token.meta["at"] = self.begin
        return token


class _PlacedInline(ParserInline):
    """The library's reader of inline text, with the places of the tokens."""

    def tokenize(self, state: StateInline) -> None:
        assert isinstance(state, _PlacedState)
        rules = self.ruler.getRules("")
        end, nesting = state.posMax, state.md.options["maxNesting"]
        state.begin = state.pos
        while state.pos < end:
            known = len(state.tokens)
            for rule in rules if state.level < nesting else ():
                if rule(state, False):
                    break
            else:
                state.pending += state.src[state.pos]
                state.pos += 1
                continue
            if len(state.tokens) > known:
                state.begin = state.pos
        if state.pending:
            state.pushPending()

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = _PlacedState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def read_page(text: str) -> list[PagePart]:
    """Return the parts of the page of a Markdown document in order.

    That is of CommonMark with tables, struck text, wikilinks, footnotes, attributes and JSX.
    Frontmatter is a part as it is written.
    """
    begin = frontmatter_end(text)
    writer = _Writer(text, line_starts(text, begin))
    if begin:
        writer.parts.append(PagePart(text[:begin], 0, begin))
    # A byte order mark would keep the first line from being a heading; a space does not.
    source = f" {text[1:]}" if text.startswith("\ufeff") else text[begin:]
    env: EnvType = {}
    for before, token in pairwise([Token("", "", 0), *PARSER.parse(source, env)]):
        if token.map is None:
            continue
        first, last = token.map
        if token.type == "list_item_open" and token.info:
            writer.write_marker(f"{token.info}{token.markup}", first)
        elif token.type == "inline":
            is_cell = before.type in ("th_open", "td_open")
            spots = writer.find_spots(token.content, first, last, in_order=is_cell)
            if before.level == 0 and MODULE.match(token.content):
                writer.write_literal(token.content, spots, 0, "mark")
            else:
                writer.write_inline(token, spots, token.children or ())
            writer.write_break(last)
        elif token.type in ("fence", "code_block"):
            first += token.type == "fence"
            content = token.content.removesuffix("\n")
            writer.write_literal(content, writer.find_spots(content, first, last), 0)
            writer.write_break(last)
        elif token.type == "html_block" and not SILENT.match(token.content):
            token.content = token.content.removesuffix("\n")
            spots = writer.find_spots(token.content, first, last)
            writer.write_inline(token, spots, PARSER.inline.parse(token.content, PARSER, env, []))
            writer.write_break(last)
    return writer.parts


class _Writer:
    """A writer of the parts of the page of `text`, whose lines begin at `starts`."""

    def __init__(self, text: str, starts: Sequence[int]) -> None:
        self.parts: list[PagePart] = []
        self._text = text
        self._starts = starts
        self._notes: dict[str, int] = {}
        self._cursor = 0  # after the last cell or marker

    def write_marker(self, marker: str, line: int) -> None:
        at = self._text.find(marker, max(self._cursor, self._starts[line]))
        if at >= 0:
            self._cursor = at + len(marker)
            self.parts.append(PagePart(f"{marker} ", at, self._cursor, "marker"))

    def write_break(self, line: int) -> None:
        end = self.parts[-1].end if self.parts else self._starts[line]
        self.parts.append(PagePart("\n", end, end))

    def write_literal(
        self, piece: str, spots: Sequence[int], i: int, kind: str = "text", width: int = 0
    ) -> None:
        """Write the text at place `i` of the `spots`, which are the offsets in the source by place.

        A piece that stands for `width` characters there is not split.
        """
        found = spots[i : i + (width or len(piece))]
        if not found:
            return
        start, end = found[0], found[-1] + 1
        if width or end - start == len(piece):
            self.parts.append(PagePart(piece, start, end, kind))
        else:
            self.parts.extend(
                PagePart(char, at, at + 1, kind) for char, at in zip(piece, found, strict=False)
            )

    def write_inline(self, block: Token, spots: Sequence[int], children: Sequence[Token]) -> None:
        for child in children:
            at, piece, content = child.meta.get("at", 0), child.content, block.content
            match child.type:
                case "text":
                    at += not content.startswith(piece, at)  # an address behind its `<`
                    width = 0 if content.startswith(piece, at) else len(piece)
                    self.write_literal(piece, spots, at, width=width)
                case "text_special":
                    skipped = child.info == "escape" and len(piece) == 1
                    width = len(child.markup) - skipped
                    self.write_literal(piece, spots, at + skipped, width=width)
                case "softbreak" | "hardbreak":
                    self.write_literal("\n", spots, at)
                case "code_inline":
                    at += len(child.markup)
                    at += not content.replace("\n", " ").startswith(piece, at)
                    self.write_literal(piece, spots, at)
                case "wikilink":
                    self.write_literal(piece, spots, content.rfind(piece, at, child.meta["end"]))
                case "image":
                    self.write_literal(piece, spots, at + len("!["), "alt")
                case "html_inline" if PARTING.match(piece):
                    self.write_literal(" ", spots, at, "gap", len(piece))
                case "note":
                    number = self._notes.setdefault(piece, len(self._notes) + 1)
                    width = len(child.markup)
                    self.write_literal(child.markup, spots, at, "mark")
                    if child.markup.endswith(":"):
                        self.write_literal(f"{number}. ", spots, at, "marker", width)
                    else:
                        self.write_literal(f"{number}", spots, at, "number", width)
                        self.write_literal(f"[{number}]", spots, at, "bracketed", width)
                case "mark":
                    self.write_literal(piece, spots, at, "mark")
                    if string := STRING.fullmatch(piece):
                        self.write_literal(string[2], spots, at + string.start(2), "value")

    def find_spots(
        self, content: str, first: int, last: int, *, in_order: bool = False
    ) -> Sequence[int]:
        """Return the place in the source of each character of a block's content.

        Its lines are the ends of lines `first` to `last`, or cells, in order.
        """
        starts, text = self._starts, self._text
        last = min(last, len(starts) - 1)
        low, high = starts[min(first, last)], starts[last]
        if in_order:
            at = text.find(content, max(low, self._cursor), high)
            spots: Sequence[int] = range(at, at + len(content))
            if at < 0:
                spots = [*self._follow(content, max(low, self._cursor), high)]
            self._cursor = spots[-1] + 1 if content else self._cursor
            return spots
        at = text.rfind(content, low, high)
        if at >= 0:
            return range(at, at + len(content))
        found: list[int] = []
        for line, piece in enumerate(content.split("\n"), first):
            low, high = starts[min(line, last)], starts[min(line + 1, last)]
            bare = piece.lstrip()
            blanks = len(piece) - len(bare)
            at = text.rfind(bare, low, high)
            if low <= at - blanks and text.startswith(piece[:blanks], at - blanks):
                found += range(at - blanks, at)
            else:  # they are part of a tab
                found += [max(at - 1, low)] * blanks
            found += range(at, at + len(bare)) if at >= 0 else self._follow(bare, low, high)
            found.append(found[-1] + 1 if piece else low)
        return found

    def _follow(self, content: str, low: int, high: int) -> Iterator[int]:
        """Yield the place of each character, searched from the one before it."""
        for char in content:
            at = self._text.find(char, low, high)
            yield (at if at >= 0 else min(low, len(self._text) - 1))
            low = at + 1 if at >= 0 else low


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark")
    parser.inline = _PlacedInline()
    # What joins tokens would lose their places.
    parser.enable(["table", "strikethrough"]).disable(["fragments_join", "text_join"])
    parser.inline.ruler.before("link", "wikilink", read_wikilink)
    parser.inline.ruler.before("link", "note", _read_note)
    parser.inline.ruler.before("html_inline", "mark", _read_mark)
    parser.block.ruler.before("html_block", "jsx", _read_jsx, {"alt": ["paragraph"]})
    parser.block.ruler.at("reference", _read_reference)
    return parser


def _read_note(state: StateInline, silent: bool) -> bool:
    """Read the mark of a footnote, at the head of a line with the colon of its text."""
    match = NOTE.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    end = match.end()
    end += _begins_line(state) and state.src.startswith(":", end)
    if not silent:
        token = state.push("note", "", 0)
        token.content, token.markup = match[1], state.src[state.pos : end]
    state.pos = end
    return True


def _begins_line(state: StateInline) -> bool:
    return state.pos == 0 or state.src[state.pos - 1] == "\n"


def _read_mark(state: StateInline, silent: bool) -> bool:
    """Read the opening of a container, a text in braces, or a tag with braces in it."""
    source, at, most = state.src, state.pos, min(state.posMax, state.pos + LONGEST)
    if source.startswith(COMMENT[0], at):
        assert isinstance(state, _PlacedState)
        closed = source.find(COMMENT[1], at, state.posMax) if state.last_comment > at else -1
        end = closed + len(COMMENT[1]) if closed > at else at
    elif source[at] == ":" and _begins_line(state):
        match = CONTAINER.match(source, at, most)
        end = match.end() if match else at
    elif source[at] == "{":
        match = ATTRIBUTES.match(source, at, most) or EXPRESSION.match(source, at, most)
        end = match.end() if match else at
    else:
        end = _find_tag_end(source, at, most) if source[at] == "<" else at
    if end <= at:
        return False
    if not silent:
        state.push("mark", "", 0).content = source[at:end]
    state.pos = end
    return True


def _find_tag_end(source: str, at: int, most: int, *, own: bool = False) -> int:
    """Return the end of a tag that is not HTML, for its `own` name or braces; else 0."""
    name = TAG_NAME.match(source, at, most)
    if name is None:
        return 0
    at, braced = name.end(), own or name[0] in ("<", "</")
    while at < most:
        match source[at]:
            case ">":
                return at + 1 if braced else 0
            case '"' | "'" as quote:
                at = source.find(quote, at + 1, most)
            case "{":
                at, braced = _find_brace_end(source, at, most), True
            case "<":
                return 0
        if at < 0:
            return 0
        at += 1
    return 0


def _find_brace_end(source: str, at: int, most: int) -> int:
    """Return the place where the brace at `at` is closed, -1 if it is not."""
    depth = 0
    for brace in BRACES.finditer(source, at, most):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    return -1


def _read_jsx(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read a comment or a tag of JSX that spans several lines."""
    at = state.bMarks[first] + state.tShift[first]
    if state.is_code_block(first):
        return False
    end = -1
    if state.src.startswith(COMMENT[0], at):
        if "last comment" not in state.env:
            state.env["last comment"] = state.src.rfind(COMMENT[1])
        if state.env["last comment"] >= state.eMarks[first]:
            end = state.src.find(COMMENT[1], at)
    elif name := TAG_NAME.match(state.src, at):
        most = min(len(state.src), at + LONGEST)
        end = _find_tag_end(state.src, at, most, own=name[0][1:2].isupper()) - 1
    line = next((i for i in range(first + 1, last) if end < state.eMarks[i]), 0)
    if end < state.eMarks[first] or not line:
        return False
    if not silent:
        token = state.push("html_block", "", 0)
        state.line = line + 1
        token.map = [first, state.line]
        token.content = state.getLines(first, state.line, state.blkIndent, True)
    return True


def _read_reference(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read the target of a link; a footnote of one word, which looks like one, is text."""
    at = state.bMarks[first] + state.tShift[first]
    return not state.src.startswith("[^", at) and reference(state, first, last, silent)


PARSER = _make_parser()
