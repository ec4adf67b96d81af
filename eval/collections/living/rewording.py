"""Passages that may be a reworded text, by their similarity word by word."""

from bisect import bisect_left
from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice, pairwise

from assay.eval.collections.living.search import TOKEN, UNSPACED, rank_documents
from assay.eval.collections.living.selectors import Anchor
from assay.retrievers.base.patterns import compile_late
from assay.retrievers.base.quotes import QuoteSpan

LEAST = 0.6  # of the words alike, in order: with less a passage is not proposed
LEAST_BETWEEN = 0.4  # where what stands before and after it is as it was
EDGE = 20  # characters of context that must be as they were
LONGEST = 600  # words of a text that are compared
REACH = 200  # characters to the end of a sentence
# Markup and addresses are alike in texts that say different things.
BESIDES = compile_late(r"<[^<>]*>|\b\w+://[^\s)\]>]*|\]\([^()\s]*\)")
WORD = compile_late(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
SENTENCE = compile_late(r"(?<=[.!?…])[\"'”’)\]]*\s+|\n\s*\n|\n(?=[ \t]*(?:[-*+>|#]|\d+[.)]))")


def propose(
    anchors: Mapping[int, Anchor], texts: Mapping[str, str]
) -> dict[int, list[tuple[QuoteSpan, float]]]:
    """Return the passage most like each anchor's text, and its similarity, where it is enough.

    The similarity is difflib's ratio of the words. It is looked for in the anchor's own document
    and in the two that share most runs of four words with the text.
    """
    ranked = rank_documents({i: item.exact for i, item in anchors.items()}, texts, 2)
    found = {}
    for i, anchor in sorted(anchors.items(), key=lambda item: item[1].path):
        best: tuple[float, QuoteSpan] | None = None
        for path in dict.fromkeys([anchor.path, *ranked.get(i, [])]):
            if path not in texts:
                continue
            for place, least in _list_candidates(anchor, path, texts[path]):
                similarity = compare(anchor.exact, texts[path][place.start : place.end])
                if similarity >= least and (best is None or similarity > best[0]):
                    best = similarity, place
        if best:
            found[i] = [(best[1], best[0])]
    return found


def compare(one: str, other: str) -> float:
    """Return the similarity of two texts, from 0 to 1: the ratio of equal words in order.

    Punctuation, tags and addresses are no words, unless the first text has no other.
    """
    words, others = _list_words(one), _list_words(other)
    if not words:
        words, others = TOKEN.findall(one)[:LONGEST], TOKEN.findall(other)[:LONGEST]
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    return 0.0 if matcher.real_quick_ratio() < LEAST_BETWEEN else matcher.ratio()


def _list_words(text: str) -> list[str]:
    return [word.casefold() for word in WORD.findall(BESIDES.sub(" ", text))][:LONGEST]


def _list_candidates(anchor: Anchor, path: str, text: str) -> list[tuple[QuoteSpan, float]]:
    found = []
    if between := _find_between(anchor, path, text):
        found.append((between, LEAST_BETWEEN))
    if aligned := _align(anchor.exact, path, text):
        found.append((aligned, LEAST))
    return found


def _find_between(anchor: Anchor, path: str, text: str) -> QuoteSpan | None:
    """Return the span that is now between the context before a text and that after it."""
    before, after = anchor.prefix[-EDGE:], anchor.suffix[:EDGE]
    if len(before) < EDGE or len(after) < EDGE or text.count(before) != 1:
        return None
    start = text.find(before) + len(before)
    end = text.find(after, start, start + 2 * len(anchor.exact) + REACH + len(after))
    piece = text[start : max(end, start)]
    if not piece.strip():
        return None
    start += len(piece) - len(piece.lstrip())
    return QuoteSpan(path, start, start + len(piece.strip()))


def _align(exact: str, path: str, text: str) -> QuoteSpan | None:
    """Return the sentences of a document in which most of a text's words stand, in order."""
    tokens = _split_all(text)
    words = TOKEN.findall(exact)[:LONGEST]
    pairs: dict[tuple[str, str], list[int]] = {}
    for i, pair in enumerate(pairwise(words)):
        pairs.setdefault(pair, []).append(i)
    offsets = [j - i for j, pair in enumerate(pairwise(tokens)) for i in pairs.get(pair, ())]
    if not offsets:
        return None
    offsets.sort()
    slack = max(8, len(words) // 2)
    # The window of words that the most pairs point at.
    counts = [bisect_left(offsets, offset + slack) - i for i, offset in enumerate(offsets)]
    begin = max(offsets[counts.index(max(counts))] - slack, 0)
    window = tokens[begin : begin + len(words) + 3 * slack]
    blocks = SequenceMatcher(None, words, window, autojunk=False).get_matching_blocks()
    blocks = [block for block in blocks if block.size > 1] or blocks[:1]
    if not blocks[0].size:
        return None
    first = max(begin + blocks[0].b - blocks[0].a, begin)
    left = len(words) - blocks[-1].a - blocks[-1].size
    last = min(begin + blocks[-1].b + blocks[-1].size + left, begin + len(window)) - 1
    # Where words stand is read only up to there: most documents are searched in vain.
    matches = list(islice(TOKEN.finditer(text), first, last + 1))
    return _extend(path, text, matches[0].start(), matches[-1].end())


def _extend(path: str, text: str, start: int, end: int) -> QuoteSpan:
    """Return a place with the sentences whole that it begins and ends in."""
    ahead = [match.end() for match in SENTENCE.finditer(text, max(start - REACH, 0), start)]
    start = ahead[-1] if ahead else (0 if start <= REACH else start)
    behind = SENTENCE.search(text, max(end - 1, 0), end + REACH)
    end = behind.start() if behind else (len(text) if len(text) - end <= REACH else end)
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return QuoteSpan(path, start, start + len(piece.strip()))


@lru_cache(maxsize=64)
def _split_all(text: str) -> list[str]:
    return TOKEN.findall(text)
