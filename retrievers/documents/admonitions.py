"""Admonitions: notes, warnings and the like, which lose their meaning when they are cut.

Read are `Note:` at the head of a paragraph, `!!! note` of Python-Markdown with what is indented
below it, and `:::note` up to `:::`. GitHub's `> [!NOTE]` is a quote, and as whole as any.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, takewhile

from retrievers.documents.blocks import Block

_NAMED = re.compile(
    r"[*_]{0,3}(?:note|warning|tip|important|caution|danger|attention|hint)[*_]{0,3}:", re.I
)
_INDENTED = re.compile(r"(?:!!!|\?\?\?\+?)[ \t]+\w")
_FENCED = re.compile(r":{3,}[ \t]*(?:\{[ \t]*)?\w")
_FENCE_END = re.compile(r"^[ \t]*:{3,}[ \t]*\Z", re.M)


def mark_admonitions(text: str, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return the blocks of `text`, the first of each admonition outside lists and quotes reaching
    over all of it.
    """
    return tuple(
        replace(block, kind="admonition", end=end)
        if (end := _find_end(text, blocks, number))
        else block
        for number, block in enumerate(blocks)
    )


def _find_end(text: str, blocks: Sequence[Block], number: int) -> int:
    """Return where the admonition that opens with the block of this `number` ends; 0 if none."""
    block = blocks[number]
    if block.kind != "paragraph" or block.depth:
        return 0
    if _NAMED.match(text, block.start):
        return block.end
    later = (blocks[at] for at in range(number + 1, len(blocks)))
    if _INDENTED.match(text, block.start):
        indented = takewhile(lambda other: other.kind == "indented", later)
        return max((other.end for other in indented), default=block.end)
    if _FENCED.match(text, block.start):
        inner = takewhile(lambda other: not _opens(text, other), later)
        closed = (other.end for other in chain([block], inner) if _closes(text, other))
        return next(closed, 0)
    return 0


def _opens(text: str, block: Block) -> bool:
    return block.kind == "heading" or _FENCED.match(text, block.start) is not None


def _closes(text: str, block: Block) -> bool:
    return block.kind == "paragraph" and bool(_FENCE_END.search(text, block.start, block.end))
