"""Finding texts in all documents at once: by hashes of four words, then letter by letter.

Every document is read once, however many texts are looked for.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import islice

from assay.eval.collections.living.selectors import BLANKS
from assay.retrievers.base.patterns import compile_late
from assay.retrievers.base.quotes import MOST, QuoteSpan, find_occurrences

# Scripts that put no blanks between words: each letter counts as a word.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
TOKEN = compile_late(rf"[{UNSPACED}]|[^\W{UNSPACED}]+|[^\w\s]")
GRAM = 4
Gram = tuple[str, ...]


def list_grams(tokens: list[str]) -> list[Gram]:
    """Return each four words in a row."""
    return list(zip(*(tokens[i:] for i in range(GRAM)), strict=False))


def is_distinctive(text: str) -> bool:
    """Return True if a text is long enough to be distinctive: six words and 32 characters."""
    return len(text) >= 32 and len(list(islice(TOKEN.finditer(text), GRAM + 2))) == GRAM + 2


def find_everywhere(wanted: Iterable[str], texts: Mapping[str, str]) -> dict[str, list[QuoteSpan]]:
    """Return the places of each distinctive text in all documents; others are left out."""
    by_gram: dict[Gram, list[str]] = defaultdict(list)
    for needle in {item for item in wanted if is_distinctive(item)}:
        # The first and last word may be parts of longer ones.
        grams = list_grams(TOKEN.findall(needle)[1:-1])
        by_gram[max(grams, key=lambda gram: sum(map(len, gram)))].append(needle)
    found: dict[str, list[QuoteSpan]] = defaultdict(list)
    if not by_gram:
        return found
    for path, text in texts.items():
        for gram in by_gram.keys() & set(list_grams(TOKEN.findall(text))):
            for needle in by_gram[gram]:
                found[needle] += find_in(needle, path, text)
    return found


def find_in(needle: str, path: str, text: str) -> list[QuoteSpan]:
    """Return the places of a text in one document, where it reads so but for its white space."""
    exact = [
        QuoteSpan(path, start, start + len(needle)) for start in find_occurrences(text, needle)
    ]
    if exact or BLANKS.sub(" ", needle) not in BLANKS.sub(" ", text):
        return exact
    pattern = re.compile(r"\s+".join(map(re.escape, needle.split())))
    matches = islice(pattern.finditer(text), MOST)
    return [QuoteSpan(path, match.start(), match.end()) for match in matches]


def rank_documents(
    wanted: Mapping[int, str], texts: Mapping[str, str], most: int
) -> dict[int, list[str]]:
    """Return the documents that share most runs of four words with each text, the best first."""
    by_gram: dict[Gram, list[int]] = defaultdict(list)
    for i, needle in wanted.items():
        for gram in set(list_grams(TOKEN.findall(needle))):
            by_gram[gram].append(i)
    shared: dict[int, Counter[str]] = defaultdict(Counter)
    if by_gram:
        for path, text in texts.items():
            for gram in by_gram.keys() & set(list_grams(TOKEN.findall(text))):
                for i in by_gram[gram]:
                    shared[i][path] += 1
    return {
        i: sorted(counts, key=lambda path: (-counts[path], path))[:most]
        for i, counts in shared.items()
    }
