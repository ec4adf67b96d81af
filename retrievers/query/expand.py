"""Query expansion: terms of the collection that mean nearly what the query says."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from retrievers.corpus import Corpus
from retrievers.legs.base import Kind
from retrievers.models.base import Vectors
from retrievers.models.encoders import AnyEncoder, CachingEncoder, EncoderSettings
from retrievers.query.base import LegKinds, QueryStep, QueryStepSettings, Request, StepResult
from retrievers.query.words import Words
from retrievers.settings import Workshop
from retrievers.text.analyzers import Language


class ExpandSettings(QueryStepSettings):
    """Adds terms of the collection that are near the query in meaning: authentication for auth."""

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
        description="kinds of legs that are asked the longer text",
    )
    encoder: AnyEncoder = Field(
        default_factory=EncoderSettings, description="the embedding model, or its name"
    )
    language: Language = Field("english", description="language of stop words and stems")

    def build(self, workshop: Workshop, legs: LegKinds) -> QueryStep:
        """Return the step. Its vocabulary is embedded when it is indexed."""
        names = [name for name, kind in legs.items() if kind in self.legs]
        return Expand(self, self.encoder.build(workshop), names)


class Expand(QueryStep):
    """Appends the nearest terms to what some legs are asked.

    A term that is in the query already, by its stem, is not added, nor are two of one stem.
    """

    def __init__(
        self, settings: ExpandSettings, encoder: CachingEncoder, legs: Sequence[str]
    ) -> None:
        self._settings = settings
        self._encoder = encoder
        self._legs = legs
        self._words = Words(settings.language)
        self._terms: Sequence[str] = ()
        self._matrix: Vectors = np.empty((0, 0), np.float32)

    def index(self, corpus: Corpus) -> None:
        """Count the terms of the chunks and embed the commonest."""
        counts = Counter(
            term for chunk in corpus.chunks for term in self._words.find_terms(chunk.searchable)
        )
        common = sorted(counts, key=lambda term: (-counts[term], term))
        self._terms = common[: self._settings.vocabulary]
        self._matrix = self._encoder.encode_passages(self._terms)

    def apply(self, request: Request) -> StepResult:
        """Return `request` with longer texts for the legs."""
        added = self._find(request.text)
        counts = {"added": len(added)}
        if not added:
            return StepResult(request, "no term is near enough", counts)
        tail = " ".join(added)
        texts = {name: f"{request.ask(name)} {tail}" for name in self._legs}
        note = "+ " + ", ".join(f"{term} ({cosine:.2f})" for term, cosine in added.items())
        return StepResult(replace(request, texts={**request.texts, **texts}), note, counts)

    def facts(self) -> Mapping[str, Any]:
        """The facts of the encoder, and the size of the vocabulary."""
        return {**self._encoder.facts(), "vocabulary": len(self._terms)}

    def _find(self, text: str) -> dict[str, float]:
        """Return the cosines of the terms to add, nearest first."""
        if not re.search(r"\w", text) or not self._terms:
            return {}
        # Row by row, as in the dense leg: equal terms of two collections get equal cosines.
        cosines = np.einsum("ij,j->i", self._matrix, self._encoder.encode_query(text))
        near = np.flatnonzero(cosines >= self._settings.floor).tolist()
        known = self._words.find_stems(text)
        added: dict[str, float] = {}
        for at in sorted(near, key=lambda at: (-cosines[at], self._terms[at])):
            stem = self._words.stem(self._terms[at])
            if stem not in known:
                known.add(stem)
                added[self._terms[at]] = float(cosines[at])
            if len(added) == self._settings.terms:
                break
        return added
