"""Query expansion: terms of the collection that mean nearly what the query says."""

import copy
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.base import Kind
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.models.base import Vectors
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.models.registry import AnyEncoder
from assay.retrievers.query.base import LegKinds, QueryStep, QueryStepSettings, StepResult
from assay.retrievers.query.words import Words
from assay.retrievers.settings import Resources
from assay.retrievers.text.languages import Language

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class ExpandSettings(QueryStepSettings):
    """Adds terms of the collection that are near the query in meaning: authentication for auth.

    A word that the collection does not have is completed where terms begin with it: deprecation
    for depr.
    """

    type: Literal["expand"]
    terms: int = Field(3, ge=1, le=20, description="how many terms are added at most")
    # With the default encoder, one in a thousand pairs of a heading and a term of the same
    # collection is as near; other encoders have other scales.
    floor: float = Field(
        0.7,
        ge=-1,
        le=1,
        description="cosine that a term has at least; meant for the default encoder",
    )
    vocabulary: int = Field(
        10_000, ge=1, description="how many terms of the collection are known, the commonest"
    )
    legs: list[Kind] = Field(
        default_factory=lambda: list[Kind](["semantic"]),
        min_length=1,
        description="kinds of legs that are asked the longer text; the rest of a word that is "
        "completed is no guess, so that keyword legs are asked it as well",
    )
    prefix: int = Field(
        4, ge=2, description="letters of an unknown word from which it is completed"
    )
    encoder: AnyEncoder = Field(
        default_factory=EncoderSettings, description="the embedding model, or its name"
    )
    language: Language = Field("english", description="language of stop words and stems")

    def count_terms(self, texts: Iterable[str]) -> Counter[str]:
        """Return the number of occurrences of each term in `texts`."""
        words = Words(self.language)
        return Counter(term for text in texts for term in words.find_terms(text))

    def choose_terms(self, counts: Mapping[str, int]) -> list[str]:
        """Return the terms that are embedded, the commonest first."""
        return sorted(counts, key=lambda term: (-counts[term], term))[: self.vocabulary]

    def build(self, resources: Resources, legs: LegKinds) -> QueryStep:
        """Return the step. Its vocabulary is embedded when it is indexed."""
        meant = [name for name, kind in legs.items() if kind in self.legs]
        completed = [name for name, kind in legs.items() if kind in {*self.legs, "keyword"}]
        return Expand(self, self.encoder.build(resources), meant, completed)


class Expand(QueryStep):
    """Appends the nearest terms to the queries of some legs.

    A term whose stem is in the query already is not added, nor are two of one stem. Completions of
    unknown words come first, the commonest term first, for the legs `completed`; the terms near in
    meaning are for the `legs`.

    `_totals` has the occurrences of each term of `_alphabet` in the documents that may be known: 0
    for a term that only others have.
    """

    def __init__(
        self,
        settings: ExpandSettings,
        encoder: CachingEncoder,
        legs: Sequence[str],
        completed: Sequence[str],
    ) -> None:
        self._settings = settings
        self._encoder = encoder
        self._legs = legs
        self._completed = completed
        self._words = Words(settings.language)
        self._corpus = Corpus(())
        self._alphabet: Sequence[str] = ()
        self._totals = np.empty(0, np.intp)
        self._by_stem: Mapping[str, Sequence[int]] = {}
        self._terms = np.empty(0, np.intp)
        self._matrix: Vectors = np.empty((0, 0), np.float32)

    def index(self, corpus: Corpus) -> None:
        """Count the terms of the chunks and embed the commonest."""
        counts = self._settings.count_terms(chunk.searchable for chunk in corpus.chunks)
        self._corpus = corpus
        self.__dict__.pop("_by_document", None)
        self._alphabet = sorted(counts)
        self._totals = np.array([counts[term] for term in self._alphabet], np.intp)
        by_stem: dict[str, list[int]] = defaultdict(list)
        for i, term in enumerate(self._alphabet):
            by_stem[self._words.stem(term)].append(i)
        self._by_stem = by_stem
        terms = self._settings.choose_terms(counts)
        self._terms = np.array([bisect_left(self._alphabet, term) for term in terms], np.intp)
        self._matrix = self._encoder.encode_passages(terms)

    def apply(self, request: LegQuery) -> StepResult:
        """Return `request` with longer texts for the legs."""
        completions = self._complete(request.text)
        added = self._find(f"{request.text} {' '.join(completions)}".rstrip())
        counts = {"added": len(completions) + len(added)}
        if not counts["added"]:
            return StepResult(request, "no term is near enough", counts)
        tails = {name: [*completions] for name in self._completed}
        for name in self._legs:
            tails[name] = [*completions, *added]
        texts = {name: " ".join([request.ask(name), *tail]) for name, tail in tails.items() if tail}
        told = [f"{term} (begins so)" for term in completions]
        told += [f"{term} ({cosine:.2f})" for term, cosine in added.items()]
        note = f"+ {', '.join(told)}"
        expansion = (*request.expansion, *completions, *added)
        texts = {**request.texts, **texts}
        return StepResult(replace(request, texts=texts, expansion=expansion), note, counts)

    def restrict(self, documents: Set[str]) -> QueryStep:
        """Return the same step with the terms of these documents, as common as they are there."""
        rows, counts = self._by_document
        held = sorted(rows[id_] for id_ in documents if id_ in rows)
        other = copy.copy(self)
        other._totals = np.asarray(counts[held].sum(axis=0), np.intp)
        return other

    @cached_property
    def _by_document(self) -> tuple[Mapping[str, int], "csr_array"]:
        """The row of each document, and the number of occurrences of each term in it."""
        from scipy.sparse import csr_array

        chunks, numbers = self._corpus.chunks, {t: i for i, t in enumerate(self._alphabet)}
        found: list[Counter[str]] = [
            self._settings.count_terms(chunks[i].searchable for i in positions)
            for positions in self._corpus.by_document.values()
        ]
        ends = np.cumsum([0, *map(len, found)])
        columns = np.array([numbers[term] for counts in found for term in counts], np.intp)
        values = np.array([n for counts in found for n in counts.values()], np.intp)
        shape = (len(found), len(self._alphabet))
        rows = {id_: i for i, id_ in enumerate(self._corpus.by_document)}
        return rows, csr_array((values, columns, ends), shape=shape)

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the encoder, and the size of the vocabulary."""
        return {**self._encoder.metadata(), "vocabulary": len(self._terms)}

    def _complete(self, text: str) -> list[str]:
        """Return the terms that begin with a word of `text` no term has, the commonest first."""
        found: list[str] = []
        for word in self._words.find_terms(text):
            alike = self._by_stem.get(self._words.stem(word), ())
            if len(word) < self._settings.prefix or any(self._totals[i] for i in alike):
                continue
            first = bisect_left(self._alphabet, word)
            last = bisect_left(self._alphabet, f"{word}\U0010ffff")
            known = [i for i in range(first, last) if self._totals[i]]
            stems: set[str] = set()
            for i in sorted(known, key=lambda i: (-self._totals[i], i)):
                term = self._alphabet[i]
                if (stem := self._words.stem(term)) not in stems:
                    stems.add(stem)
                    found.append(term)
                if len(stems) == self._settings.terms:
                    break
        return list(dict.fromkeys(found))

    def _find(self, text: str) -> dict[str, float]:
        """Return the cosines of the terms to add, nearest first."""
        if not re.search(r"\w", text) or not len(self._terms):
            return {}
        # Row by row, as in the dense leg: equal terms of two collections get equal cosines.
        cosines = np.vecdot(self._matrix, self._encoder.encode_query(text))
        near = np.flatnonzero((cosines >= self._settings.floor) & (self._totals[self._terms] > 0))
        known = self._words.find_stems(text)
        added: dict[str, float] = {}
        for i in sorted(near.tolist(), key=lambda i: (-cosines[i], self._terms[i])):
            term = self._alphabet[self._terms[i]]
            if (stem := self._words.stem(term)) not in known:
                known.add(stem)
                added[term] = float(cosines[i])
            if len(added) == self._settings.terms:
                break
        return added
