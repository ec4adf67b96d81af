"""Chunks that hold hardly any text besides headings: they take a place and answer nothing."""

import re
from collections.abc import Sequence

from assay.retrievers.base import Chunk, cut
from assay.retrievers.base.markdown import is_plain
from assay.retrievers.base.patterns import compile_late
from assay.retrievers.base.scripts import HAN, HANGUL, KANA, THAI

FEWEST = 5  # words besides headings
EXAMPLE = 60  # characters
# A character of a script without blanks counts as a word.
WORD = compile_late(rf"[{HAN}{KANA}{HANGUL}{THAI}]|[^\W_]+")
HEADING = compile_late(r"^ {0,3}#{1,6}(?:[ \t].*)?$", re.MULTILINE)


def is_near_empty(chunk: Chunk) -> bool:
    """Return True if a chunk has fewer than 5 words besides headings.

    Definitions and requirements are short by nature, and are not.
    """
    if chunk.kind in ("definition", "requirement") or len(chunk.text) > 1_000:
        return False
    text = chunk.text if is_plain(chunk.doc_id) else HEADING.sub("", chunk.text)
    lines = (line for line in text.splitlines() if line.strip() not in chunk.headings)
    return sum(len(WORD.findall(line)) for line in lines) < FEWEST


def shorten(chunk: Chunk) -> str:
    """Return the text of a near-empty chunk as an example shows it."""
    return cut(" ".join(chunk.text.split()), EXAMPLE)


def describe_near_empty(found: Sequence[tuple[str, str]], where: str) -> str:
    """Return a sentence on near-empty chunks, with the first as an example; "" if there are none.

    Args:
        found: The document's id and the shortened text of each.
        where: The chunks that they are among, in words: `41 chunks`.

    """
    if not found:
        return ""
    document, text = found[0]
    return (
        f"{len(found):,} of {where} {'holds' if len(found) == 1 else 'hold'} fewer than {FEWEST} "
        f'words besides headings (first: {document}, "{text}") and can answer nothing. Combine '
        "short sections (chunker combine_split, respect_h2: false) or leave them out"
    )
