"""Query expansion: terms of the collection that mean nearly what the query says."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

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
        """Return how often each term stands in `texts`."""
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
    """Appends the nearest terms to what some legs are asked.

    A term that is in the query already, by its stem, is not added, nor are two of one stem. What
    completes unknown words comes first, the commonest term first, for the legs `completed`; the
    terms near in meaning are for the `legs`.
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
        self._counts: Mapping[str, int] = {}
        self._stems: frozenset[str] = frozenset()
        self._alphabet: Sequence[str] = ()
        self._terms: Sequence[str] = ()
        self._matrix: Vectors = np.empty((0, 0), np.float32)

    def index(self, corpus: Corpus) -> None:
        """Count the terms of the chunks and embed the commonest."""
        counts = self._settings.count_terms(chunk.searchable for chunk in corpus.chunks)
        self._counts = counts
        self._stems = frozenset(map(self._words.stem, counts))
        self._alphabet = sorted(counts)
        self._terms = self._settings.choose_terms(counts)
        self._matrix = self._encoder.encode_passages(self._terms)

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

    def metadata(self) -> Mapping[str, Any]:
        """The facts of the encoder, and the size of the vocabulary."""
        return {**self._encoder.metadata(), "vocabulary": len(self._terms)}

    def _complete(self, text: str) -> list[str]:
        """Return the terms that begin with a word of `text` no term has, the commonest first."""
        found: list[str] = []
        for word in self._words.find_terms(text):
            if len(word) < self._settings.prefix or self._words.stem(word) in self._stems:
                continue
            first = bisect_left(self._alphabet, word)
            last = bisect_left(self._alphabet, f"{word}\U0010ffff")
            begin_so = sorted(
                self._alphabet[first:last], key=lambda term: (-self._counts[term], term)
            )
            stems: set[str] = set()
            for term in begin_so:
                if (stem := self._words.stem(term)) not in stems:
                    stems.add(stem)
                    found.append(term)
                if len(stems) == self._settings.terms:
                    break
        return list(dict.fromkeys(found))

    def _find(self, text: str) -> dict[str, float]:
        """Return the cosines of the terms to add, nearest first."""
        if not re.search(r"\w", text) or not self._terms:
            return {}
        # Row by row, as in the dense leg: equal terms of two collections get equal cosines.
        cosines = np.vecdot(self._matrix, self._encoder.encode_query(text))
        near = np.flatnonzero(cosines >= self._settings.floor).tolist()
        known = self._words.find_stems(text)
        added: dict[str, float] = {}
        for i in sorted(near, key=lambda i: (-cosines[i], self._terms[i])):
            stem = self._words.stem(self._terms[i])
            if stem not in known:
                known.add(stem)
                added[self._terms[i]] = float(cosines[i])
            if len(added) == self._settings.terms:
                break
        return added
