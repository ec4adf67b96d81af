"""Measures of the answers that a language model gave from what a run returned.

Each is between 0 and 1, and each query has one. Where something answers a query, `answering` gold
items are those of a grade from which a text answers; where nothing does, every measure is 1 for
saying nothing, be it by the model (answers, citations) or by the retriever (contexts), and 0 for
anything else, as SQuAD 2.0 has it (Rajpurkar, Jia and Liang, ACL 2018). Tokens are as in SQuAD's
script, lower case, without punctuation and English articles, but punctuation parts words; a
character of a script without blanks is one by itself.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring.calculation import ByQuery
from assay.eval.scoring.join import RetrievedChunk, covers
from assay.eval.scoring.kinds import Kind
from assay.retrievers.base import AssayError

NAMES = {
    "AnswerF1": "overlap of the tokens of answer and reference answer, F1, of the nearest one",
    "AnswerEM": "answers that are a reference answer, but for case, punctuation and articles",
    "QuoteShare": "tokens of a gold passage that stand in the answer, of the passage most quoted",
    "CitationP": "cited chunks that cover gold; 0 where nothing is cited",
    "CitationR": "gold items that cited chunks cover",
    "ContextP": "chunks of the context that cover gold; 0 where it is empty",
    "ContextR": "gold items that chunks of the context cover",
    "Abstention": "queries answered where something answers, and not where nothing does",
}
KINDS = {name: Kind(name, meaning) for name, meaning in NAMES.items()}
REFERENCED = ("AnswerF1", "AnswerEM")
OF_CONTEXT = ("ContextP", "ContextR")

_UNSPACED = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_ARTICLES = {"a", "an", "the"}


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model answered, without its citations, and the chunks it was shown and cited."""

    text: str
    abstained: bool
    cited: Sequence[RetrievedChunk]
    context: Sequence[RetrievedChunk]


@dataclass(frozen=True, slots=True)
class ReferenceAnswer:
    """What answers a query: gold items and their texts, and reference answers, if there are any."""

    items: Sequence[GoldItem]
    texts: Sequence[str]
    references: Sequence[str]


def score(
    name: str, given: Mapping[str, ModelAnswer], wanted: Mapping[str, ReferenceAnswer]
) -> ByQuery:
    """Return the score of every query of `wanted` by the measure `name`."""
    return {query: _score(name, given[query], right) for query, right in wanted.items()}


def split_tokens(text: str) -> list[str]:
    """Return the tokens that answers are compared by.

    >>> split_tokens("The ferry-boat, at 9:30.")
    ['ferry', 'boat', 'at', '9', '30']
    """
    return [token for token in _TOKEN.findall(text.lower()) if token not in _ARTICLES]


def _score(name: str, given: ModelAnswer, wanted: ReferenceAnswer) -> float:
    if not wanted.items:
        return float(not given.context if name in OF_CONTEXT else given.abstained)
    return _MEASURES[name](given, wanted)


def _f1(given: ModelAnswer, wanted: ReferenceAnswer) -> float:
    if given.abstained:
        return 0.0
    return max(_overlap(given.text, reference) for reference in wanted.references)


def _overlap(answer: str, reference: str) -> float:
    said, right = split_tokens(answer), split_tokens(reference)
    shared = (Counter(said) & Counter(right)).total()
    return 2 * shared / (len(said) + len(right)) if shared else 0.0


def _exact(given: ModelAnswer, wanted: ReferenceAnswer) -> float:
    said = split_tokens(given.text)
    return float(
        not given.abstained
        and any(said == split_tokens(reference) for reference in wanted.references)
    )


def _quote(given: ModelAnswer, wanted: ReferenceAnswer) -> float:
    if given.abstained:
        return 0.0
    said = Counter(split_tokens(given.text))
    texts = filter(None, map(split_tokens, wanted.texts))
    return max(((said & Counter(text)).total() / len(text) for text in texts), default=0.0)


def _precision(chunks: Sequence[RetrievedChunk], items: Sequence[GoldItem]) -> float:
    right = sum(any(covers(chunk, item) for item in items) for chunk in chunks)
    return right / len(chunks) if chunks else 0.0


def _recall(chunks: Sequence[RetrievedChunk], items: Sequence[GoldItem]) -> float:
    return sum(any(covers(chunk, item) for chunk in chunks) for item in items) / len(items)


_MEASURES: Mapping[str, Callable[[ModelAnswer, ReferenceAnswer], float]] = {
    "AnswerF1": _f1,
    "AnswerEM": _exact,
    "QuoteShare": _quote,
    "CitationP": lambda given, wanted: _precision(given.cited, wanted.items),
    "CitationR": lambda given, wanted: _recall(given.cited, wanted.items),
    "ContextP": lambda given, wanted: _precision(given.context, wanted.items),
    "ContextR": lambda given, wanted: _recall(given.context, wanted.items),
    "Abstention": lambda given, _: float(not given.abstained),
}


def refuse(name: str, *_: Any) -> NoReturn:
    """Raise AssayError: rankings alone have no score by `name`."""
    raise AssayError(
        f"measures: {name}: is of answers, which a run has after `assay answer`; allowed where such"
        " runs are compared or gated"
    )
