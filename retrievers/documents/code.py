"""The code in a document: fenced blocks and inline code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assay.retrievers.documents.structure.blocks import Block
from assay.retrievers.documents.structure.structure import Structure

_TICKS = re.compile(r"`+")
_FENCE = re.compile(r"[ \t>]*(?:`{3,}|~{3,})[ \t]*\Z")
_LANGUAGE = re.compile(r"[\w+#-]+")
# Blocks whose text is read for inline code.
_READ = ("paragraph", "heading", "table")

# Other names of languages at the head of a fence.
ALIASES = {
    "c#": "csharp", "c++": "cpp", "cc": "cpp", "cs": "csharp", "golang": "go", "js": "javascript",
    "jsx": "javascript", "kt": "kotlin", "ps1": "powershell", "py": "python", "python3": "python",
    "rb": "ruby", "rs": "rust", "sh": "bash", "shell": "bash", "ts": "typescript",
    "tsx": "typescript", "yml": "yaml", "zsh": "bash",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CodeSpan:
    """Characters `start` to `end` of a document, without fences or backticks.

    `language` is that of a fence, under its usual name; inline code has none.
    """

    start: int
    end: int
    language: str = ""
    inline: bool = False


def find_code(structure: Structure) -> Iterator[CodeSpan]:
    """Yield the code of a document in order; merely indented text does not count as code."""
    for block in structure.blocks:
        if block.kind == "code":
            yield _open_fence(structure.text, block)
        elif block.kind in _READ:
            yield from _find_inline(structure.text, block.start, block.end)


def _find_inline(text: str, begin: int, end: int) -> Iterator[CodeSpan]:
    """Yield the text between two equally long runs of backticks; escaped ones open nothing."""
    ticks = [match.span() for match in _TICKS.finditer(text, begin, end)]
    later: dict[int, int] = {}
    closing = []  # for each run the number of the next that is as long
    for number in range(len(ticks) - 1, -1, -1):
        length = ticks[number][1] - ticks[number][0]
        closing.append(later.get(length))
        later[length] = number
    closing.reverse()
    number = 0
    while number < len(ticks):
        start, stop = ticks[number]
        other = closing[number]
        if other is None or text[max(start - 1, 0) : start] == "\\":
            number += 1
            continue
        yield CodeSpan(stop, ticks[other][0], inline=True)
        number = other + 1


def name_language(name: str) -> str:
    """Return the usual name of a language, in lower case: python for py, Python or {.python}."""
    found = _LANGUAGE.search(name.lower())
    return ALIASES.get(found[0], found[0]) if found else ""


def _open_fence(text: str, block: Block) -> CodeSpan:
    first = text.find("\n", block.start, block.end)
    last = text.rfind("\n", block.start, block.end)
    start = first + 1 if first >= 0 else block.end
    closed = last >= 0 and _FENCE.match(text, last + 1, block.end)
    return CodeSpan(start, max(start, last if closed else block.end), name_language(block.language))
