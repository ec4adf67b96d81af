"""Admonitions: notes, warnings and the like, which lose their meaning if they are cut.

Known forms: `Note:` at the head of a paragraph, `!!! note` of Python-Markdown with the text
indented below it, and `:::note` up to `:::`. GitHub's `> [!NOTE]` is a quote, which is kept whole
like any. Tabs, `=== "Linux"`, are no admonitions, and have a body of the same form.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, takewhile

from assay.retrievers.documents.structure.blocks import Block

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
