"""Measures of the answers that a language model gave from a run's hits.

Each is between 0 and 1, and each query has one. Where something answers a query, `answering` gold
items are those of a grade from which a text answers; where nothing does, every measure is 1 for
saying nothing, be it by the model (answers, citations) or by the retriever (contexts), and 0 for
anything else, as SQuAD 2.0 has it (Rajpurkar, Jia and Liang, ACL 2018). Tokens are as in SQuAD's
script, lower case, without punctuation and English articles, but punctuation parts words; a
character of a script without blanks is one by itself.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring.calculation import ByQuery, Gold, Joined
from assay.eval.scoring.join import RetrievedChunk, covers
from assay.eval.scoring.measure import SHARE, Measure
from assay.retrievers.base import AssayError
from assay.retrievers.base.patterns import compile_late

_UNSPACED = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_TOKEN = compile_late(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_ARTICLES = {"a", "an", "the"}


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A model's answer without its citations, and the chunks that it was shown and cited."""

    text: str
    abstained: bool
    cited: Sequence[RetrievedChunk]
    context: Sequence[RetrievedChunk]


@dataclass(frozen=True, slots=True)
class ReferenceAnswer:
    """The expected answer of a query: gold items, their texts, and any reference answers."""

    items: Sequence[GoldItem]
    texts: Sequence[str]
    references: Sequence[str]


def score(
    name: str, given: Mapping[str, ModelAnswer], wanted: Mapping[str, ReferenceAnswer]
) -> ByQuery:
    """Return the score of every query of `wanted` by the measure `name`."""
    measure = KINDS[name]()
    return {query: measure.score_answer(given[query], right) for query, right in wanted.items()}


def split_tokens(text: str) -> list[str]:
    """Return the tokens that answers are compared by.

    >>> split_tokens("The ferry-boat, at 9:30.")
    ['ferry', 'boat', 'at', '9', '30']
    """
    return [token for token in _TOKEN.findall(text.lower()) if token not in _ARTICLES]


def refuse(name: str) -> AssayError:
    """Return the error for a measure `name` of answers that is requested for rankings alone."""
    return AssayError(
        f"measures: {name}: is of answers, which a run has after `assay answer`; allowed where such"
        " runs are compared or gated"
    )


class AnswerMeasure(Measure):
    """A measure of one answer, of a `part` of it; `referenced` where references are needed."""

    within = SHARE
    forms = ("",)
    of_answers = True
    part: ClassVar[str] = "text"
    referenced: ClassVar[bool] = False

    @abstractmethod
    def score(self, given: ModelAnswer, wanted: ReferenceAnswer) -> float:
        """Return the score of a query that something answers."""

    def score_answer(self, given: ModelAnswer, wanted: ReferenceAnswer) -> float:
        """Return the score of any query."""
        if wanted.items:
            return self.score(given, wanted)
        return float(not given.context if self.part == "context" else given.abstained)

    def score_queries(self, joined: Joined, gold: Gold) -> NoReturn:
        """Raise AssayError."""
        raise refuse(self.name)


class AnswerF1(AnswerMeasure):
    meaning = "overlap of the tokens of answer and reference answer, F1, of the nearest one"
    referenced = True

    def score(self, given: ModelAnswer, wanted: ReferenceAnswer) -> float:
        if given.abstained:
            return 0.0
        return max(_overlap(given.text, reference) for reference in wanted.references)


def _overlap(answer: str, reference: str) -> float:
    said, right = split_tokens(answer), split_tokens(reference)
    shared = (Counter(said) & Counter(right)).total()
    return 2 * shared / (len(said) + len(right)) if shared else 0.0


class AnswerEM(AnswerMeasure):
    meaning = "answers that are a reference answer, but for case, punctuation and articles"
    referenced = True

    def score(self, given: ModelAnswer, wanted: ReferenceAnswer) -> float:
        said = split_tokens(given.text)
        same = any(said == split_tokens(reference) for reference in wanted.references)
        return float(same and not given.abstained)


class QuoteShare(AnswerMeasure):
    meaning = "tokens of a gold passage that stand in the answer, of the passage most quoted"

    def score(self, given: ModelAnswer, wanted: ReferenceAnswer) -> float:
        if given.abstained:
            return 0.0
        said = Counter(split_tokens(given.text))
        texts = filter(None, map(split_tokens, wanted.texts))
        return max(((said & Counter(text)).total() / len(text) for text in texts), default=0.0)


class CitationP(AnswerMeasure):
    meaning = "cited chunks that cover gold; 0 where nothing is cited"
    part = "cited"

    def score(self, given: ModelAnswer, wanted: ReferenceAnswer) -> float:
        chunks = getattr(given, self.part)
        right = sum(any(covers(chunk, item) for item in wanted.items) for chunk in chunks)
        return right / len(chunks) if chunks else 0.0


class CitationR(AnswerMeasure):
    meaning = "gold items that cited chunks cover"
    part = "cited"

    def score(self, given: ModelAnswer, wanted: ReferenceAnswer) -> float:
        chunks, items = getattr(given, self.part), wanted.items
        return sum(any(covers(chunk, item) for chunk in chunks) for item in items) / len(items)


class ContextP(CitationP):
    meaning = "chunks of the context that cover gold; 0 where it is empty"
    part = "context"


class ContextR(CitationR):
    meaning = "gold items that chunks of the context cover"
    part = "context"


class Abstention(AnswerMeasure):
    meaning = "queries answered where something answers, and not where nothing does"

    def score(self, given: ModelAnswer, wanted: ReferenceAnswer) -> float:
        return float(not given.abstained)


LISTED = (AnswerF1, AnswerEM, QuoteShare, CitationP, CitationR, ContextP, ContextR, Abstention)
KINDS: dict[str, type[AnswerMeasure]] = {kind.name: kind for kind in LISTED}
