"""The summary of a document, in its own words."""

from bisect import bisect_right

from assay.retrievers.documents.structure.sentences import sentence_ends
from assay.retrievers.documents.structure.structure import Structure

LONGEST = 300  # characters


def summarise(structure: Structure) -> str:
    """Return the description or summary in the frontmatter, or else the first paragraph.

    Lists, quotes, tables and code do not count as paragraphs. A paragraph of more than LONGEST
    characters ends with the last sentence that fits, or else with a word and an ellipsis. The
    result is empty if there is neither.
    """
    if structure.frontmatter.description:
        return structure.frontmatter.description
    paragraphs = (
        " ".join(structure.text[block.start : block.end].split())
        for block in structure.blocks
        if block.kind == "paragraph" and block.depth == 0
    )
    return _shorten(next(filter(None, paragraphs), ""))


def _shorten(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    ends = list(sentence_ends(text, 0, len(text)))
    if fitting := bisect_right(ends, LONGEST + 1):
        return text[: ends[fitting - 1]].rstrip()
    return text[: LONGEST - 1].rpartition(" ")[0] + "…"
