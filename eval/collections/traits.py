"""Traits of a collection that affect pipelines differently: of its questions and documents."""

import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from assay.eval.collections.collection import Collection, GoldItem, Query
from assay.eval.report.formats import percent
from assay.retrievers.base.folding import fold
from assay.retrievers.base.scripts import HAN, KANA, THAI

# Where no blanks stand between words each character counts as one.
WORD = re.compile(rf"[{HAN}{KANA}{THAI}]|[^\W{HAN}{KANA}{THAI}]+(?:['’][^\W{HAN}{KANA}{THAI}]+)*")
SHORT = 4  # characters; words of fewer, such as `the` and `of`, say little
MOST_READ = 2_000  # documents of a large collection, evenly spaced
CODE = re.compile(
    r"[{};]\s*$|^\s*(?:def|class|import|fn|pub|func|let|const|var|return)\b.*[\w):,]$"
    r"|^\s*#include\b|\w\(.*\)\s*[:{]?$|->|=>|::|==|&&"
)

# What each feature is called, and how its values are said.
NAMES: Mapping[str, str] = {
    "document_words": "words of a document",
    "code": "share of lines that are code",
    "documents": "documents",
    "question_words": "words of a question",
    "overlap": "share of a question's words that its answer has",
}


def split_words(text: str) -> list[str]:
    """Return the words of `text` without differences of case and form."""
    return WORD.findall(fold(text).text)


def share_words(question: str, answer: str) -> float | None:
    """Return the share of the question's words that its answer has too, from 0 to 1.

    Each word counts once, words of fewer than four letters not at all, unless they hold a digit or
    are of a script without blanks. None for a question without other words.
    """
    words = set(filter(_counts, split_words(question)))
    return len(words.intersection(split_words(answer))) / len(words) if words else None


def _counts(word: str) -> bool:
    return len(word) >= SHORT or not word.isascii() or any(map(str.isdigit, word))


def find_overlaps(
    queries: Iterable[Query],
    gold: Mapping[str, Sequence[GoldItem]],
    texts: Mapping[str, str],
) -> dict[str, float]:
    """Return by query the share of its words that its gold answer has (see `share_words`).

    `texts` are those of the relevant gold items by their id; the answer is all of the highest
    grade. Queries without an answer, or without words that count, are left out.
    """
    found = {}
    for query in queries:
        relevant = [item for item in gold[query.id] if item.grade > 0 and item.id in texts]
        highest = max((item.grade for item in relevant), default=0)
        answer = " ".join(texts[item.id] for item in relevant if item.grade == highest)
        share = share_words(query.text, answer) if relevant else None
        if share is not None:
            found[query.id] = share
    return found


def find_collection_overlaps(collection: Collection) -> dict[str, float]:
    """Return the overlaps of a collection's queries, as `find_overlaps` does."""
    texts = {
        item.id: collection.by_id[item.doc_id].text[item.start : item.end]
        for items in collection.gold.values()
        for item in items
        if item.grade > 0 and not item.absent
    }
    return find_overlaps(collection.queries, collection.gold, texts)


def describe_overlap(overlaps: Mapping[str, float]) -> str:
    """Return a sentence on the share of words that questions have from their answers, or ""."""
    if not overlaps:
        return ""
    return (
        f"On average a question shares {percent(fmean(overlaps.values()))} of its words with its "
        "answer: the higher, the more keyword search is favoured."
    )


def measure_traits(collection: Collection) -> dict[str, float]:
    """Return the features in `NAMES` of a collection; `overlap` is left out where it is unknown."""
    documents = collection.documents
    step = max(1, len(documents) // MOST_READ)
    read = [documents[i].text for i in range(0, len(documents), step)]
    lines = [line for text in read for line in text.splitlines() if line.strip()]
    overlaps = find_collection_overlaps(collection)
    return {
        "document_words": fmean(len(text.split()) for text in read),
        "code": sum(CODE.search(line) is not None for line in lines) / max(len(lines), 1),
        "documents": float(len(documents)),
        "question_words": fmean(len(query.text.split()) for query in collection.queries),
        **({"overlap": fmean(overlaps.values())} if overlaps else {}),
    }
