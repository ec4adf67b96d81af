"""MDX, which is Markdown with JSX: components become their text, code of the page goes."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping

FRONTMATTER = re.compile(r"\ufeff?---[ \t]*\n(?:.*\n)*?---[ \t]*(?:\n|\Z)")
FENCE = re.compile(r" *(`{3,}|~{3,})")
BACKTICKS = re.compile(r"`+")
BLANK = re.compile(r"\n[ \t]*\n")
MODULE = re.compile(
    r"import\s*(?:[\"'{*]|[\w$]+\s*(?:,|\bfrom\b))"
    r"|export\s+(?:default|const|let|var|function|async|class)\b|export\s*[{*]"
)
COMMENT = re.compile(r"\{\s*/\*")
COMMENT_END = re.compile(r"\*/\s*\}")
STRING = re.compile(r"\{\s*(?:\"([^\"\\\n{}]*)\"|'([^'\\\n{}]*)'|`([^`$\\{}]*)`)\s*\}")
HEADING_ID = re.compile(r"^( {0,3}#{1,6} [^\n]*?)[ \t]*\{#[\w.-]+\}[ \t]*$", re.M)
TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]*)?")
ATTRIBUTE = re.compile(r"\s*([A-Za-z_$][\w$:.-]*)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|(?=\{)))?")
SPREAD = re.compile(r"\s*(?=\{)")
END = re.compile(r"\s*/?>")
ITEM = re.compile(r" *(?:[-*+]|\d+[.)]) ")
HELD = re.compile(r"\0(\d+)\0")
UNSEEN = ("script", "style")
# Attributes of components that pages show; those of HTML's own elements are not shown.
SHOWN = ("title", "label", "heading", "summary", "caption", "description", "question")


def read_mdx(text: str) -> str:
    """Return the MDX `text` as Markdown.

    Left out are `import` and `export`, comments, tags of components, and attributes but those with
    words that pages show, such as `title`. Expressions that are a string become it; others stay.
    """
    text = text.replace("\r\n", "\n")
    head = match[0] if (match := FRONTMATTER.match(text)) else ""
    held: list[str] = []
    body = _hold_code(text[len(head) :], held)
    body = _drop_comments(_drop_modules(body))
    body = _drop_tags(body)
    body = STRING.sub(lambda found: next(part for part in found.groups() if part is not None), body)
    return head + _restore(_outdent(HEADING_ID.sub(r"\1", body)), held)


def _hold_code(text: str, held: list[str]) -> str:
    """Return `text` with a number in place of each fence and code span, which move to `held`."""

    def hold(code: str) -> str:
        held.append(code)
        return f"\0{len(held) - 1}\0"

    lines = text.splitlines(keepends=True)
    parts: list[str] = []
    i = 0
    while i < len(lines):
        begin, fence = i, FENCE.match(lines[i])
        i += 1
        if fence is None:
            parts.append(lines[begin])
            continue
        end = re.compile(rf" *{fence[1][0]}{{{len(fence[1])},}}\s*$")
        while i < len(lines) and not end.match(lines[i]):
            i += 1
        i = min(i + 1, len(lines))
        code = "".join(lines[begin:i])
        indent = len(code) - len(code.lstrip(" "))
        parts.append(f"{' ' * indent}{hold(code.rstrip(chr(10))[indent:])}\n")
    return _hold_spans("".join(parts), hold)


def _hold_spans(text: str, hold: Callable[[str], str]) -> str:
    runs = [(match.start(), match.end()) for match in BACKTICKS.finditer(text)]
    starts = defaultdict[int, list[int]](list)
    for start, end in runs:
        starts[end - start].append(start)
    parts, done = [], 0
    for start, end in runs:
        same = starts[end - start]
        place = bisect_right(same, start)
        if start < done or place == len(same):
            continue
        close = same[place] + end - start
        if not BLANK.search(text, end, close):
            parts += [text[done:start], hold(text[start:close])]
            done = close
    return "".join([*parts, text[done:]])


def _drop_modules(text: str) -> str:
    lines, i = text.split("\n"), 0
    kept: list[str] = []
    while i < len(lines):
        above = not kept or not kept[-1].strip()
        if not (above and MODULE.match(lines[i])):
            kept.append(lines[i])
            i += 1
            continue
        depth = 0
        while i < len(lines) and (lines[i].strip() or depth > 0):
            depth += sum(map(lines[i].count, "{([")) - sum(map(lines[i].count, "})]"))
            i += 1
    return "\n".join(kept)


def _drop_comments(text: str) -> str:
    parts, done = [], 0
    ends = [(match.start(), match.end()) for match in COMMENT_END.finditer(text)]
    for match in COMMENT.finditer(text):
        place = bisect_left(ends, (match.end(), 0))
        if match.start() >= done and place < len(ends):
            parts.append(text[done : match.start()])
            done = ends[place][1]
    return "".join([*parts, text[done:]])


def _drop_tags(text: str) -> str:
    pairs = _pair_braces(text)
    last = {name: text.rfind(f"</{name}>") for name in UNSEEN}
    parts, done = [], 0
    for match in TAG.finditer(text):
        if match.start() < done or text[match.start() - 1 : match.start()] == "\\":
            continue
        end, kept, shown = _read_tag(text, match, pairs)
        if not end:
            continue
        name = match[2] or ""
        parts.append(text[done : match.start()])
        if name in UNSEEN:
            close = text.find(f"</{name}>", end) if end <= last[name] else -1
            end = close + len(name) + 3 if close >= 0 else end
        elif name[:1].islower() and "." not in name:
            parts.append(kept)
        elif shown:
            alone = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
            parts.append("".join(f"{value}\n\n" if alone else f"{value} " for value in shown))
        done = end
    return "".join([*parts, text[done:]])


def _pair_braces(text: str) -> Mapping[int, int]:
    """Return, for each opening brace, the offset after the one that closes it."""
    pairs, opened = {}, []
    for match in re.finditer(r"[{}]", text):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            pairs[opened.pop()] = match.end()
    return pairs


def _read_tag(
    text: str, tag: re.Match[str], pairs: Mapping[int, int]
) -> tuple[int, str, list[str]]:
    """Return the end of a tag, 0 if it is none; the tag as HTML; and the text that it shows."""
    i, kept, shown = tag.end(), [tag[0]], []
    while not (end := END.match(text, i)):
        attribute = ATTRIBUTE.match(text, i) or SPREAD.match(text, i)
        if tag[2] is None or attribute is None or attribute.end() == i:
            return (0, "", [])
        i = attribute.end()
        value = attribute[2] if attribute.re is ATTRIBUTE else ""
        if text[i : i + 1] == "{" and value in ("", None):
            if i not in pairs:
                return 0, "", []
            braces, i = text[i : pairs[i]], pairs[i]
            quoted = STRING.fullmatch(braces)
            value = quoted and '"' + next(part for part in quoted.groups() if part is not None)
        elif value:
            kept.append(f" {attribute[0].strip()}")
        if value and attribute.re is ATTRIBUTE and attribute[1] in SHOWN and value[1:].strip():
            shown.append(value[1:].removesuffix(value[0]))
    return end.end(), "".join(kept) + end[0], shown


def _outdent(text: str) -> str:
    """Remove the indent that components give to their content: MDX has no indented code.

    Text that is indented deeper than a list above it belongs to that list.
    """
    base, listed, blank = 0, False, True
    lines = []
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if blank and line.strip() and not (listed and indent > base):
            base, listed = indent, False
        if line.strip():
            listed = listed or ITEM.match(line) is not None
        blank = not line.strip()
        lines.append(line[min(indent, base) :])
    return "\n".join(lines)


def _restore(text: str, held: list[str]) -> str:
    """Put code back, fences with the indent that their first line has now."""

    def put(match: re.Match[str]) -> str:
        code = held[int(match[1])]
        start = text.rfind("\n", 0, match.start()) + 1
        before = text[start : match.start()]
        if not FENCE.match(code) or before.strip():
            return code
        lines = code.split("\n")
        last = len(lines[-1]) - len(lines[-1].lstrip(" "))
        shift = last - len(before)
        return "\n".join([lines[0], *(line[_cut(line, shift) :] for line in lines[1:])])

    return HELD.sub(put, text)


def _cut(line: str, shift: int) -> int:
    return max(0, min(shift, len(line) - len(line.lstrip(" "))))
