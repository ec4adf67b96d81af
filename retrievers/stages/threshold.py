"""The threshold: fewer hits rather than poor ones, and none where nothing answers."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from pydantic import Field, model_validator

from assay.retrievers.base import Hit
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import Comparison, Stage, StageResult, StageSettings
from assay.retrievers.text.base import Analyzer
from assay.retrievers.text.languages import LanguageAnalyzerSettings

ANALYZER = LanguageAnalyzerSettings()


class ThresholdSettings(StageSettings):
    """Drops hits whose score is too low; perhaps all of them, which `assay threshold` fits.

    Right after `rerank` it goes by the reranker's scores; with `of`, anywhere, by a dense leg's
    cosines; by calibrated scores of linear fusion it drops what lies far below the best possible.
    """

    type: Literal["threshold"]
    minimum: float = Field(0.3, description="the lowest score that is kept")
    of: str = Field(
        "",
        description="the name of a semantic leg: all hits are kept where one of them has such a "
        "cosine in its list, else none; without it each hit goes by its own score",
    )

    rare_words: float | None = Field(
        None,
        ge=0,
        le=1,
        description="with `of`: below the minimum, hits that hold every rare word of the query are "
        "kept nonetheless; rare is what stands in at most this share of the chunks. For a word in "
        "none, one that `expand` completed it to must be held. Not given: none are kept",
    )

    @model_validator(mode="after")
    def _has_use_of_rare_words(self) -> "ThresholdSettings":
        if self.rare_words is not None and not self.of:
            raise ValueError("rare_words: needs `of`; hits that go by their own score have no use")
        return self

    @property
    def comparison(self) -> Comparison | None:
        """Its minimum, with a score of the list or of a leg."""
        if self.of:
            return Comparison("threshold.of", leg=self.of)
        return Comparison(
            "threshold.minimum",
            ", set `of` to a semantic leg, or put it after rerank",
            beyond_ranks="how well a query is answered, and puts the best of every query high",
        )

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        if not self.of:
            return Threshold(self.minimum)
        rare = None if self.rare_words is None else RareWords(self.rare_words, resources)
        return LegThreshold(self.of, self.minimum, rare)


class Threshold(Stage):
    """Drops the hits that score below `minimum`."""

    def __init__(self, minimum: float) -> None:
        self._minimum = minimum

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return the hits with a score of at least `minimum`."""
        kept = [hit for hit in hits if hit.score >= self._minimum]
        dropped = len(hits) - len(kept)
        note = f"dropped {dropped} hits that score below {self._minimum:g}" if dropped else ""
        return StageResult(kept, note, {"in": len(hits), "out": len(kept)})


class LegThreshold(Stage):
    """Drops all hits of a query where none scores `minimum` or more in the list of `leg`.

    A query that names its answer keeps them: a pinned hit is one whatever the leg makes of it. With
    `rare` words, hits that hold those of the query stay, and the others go.
    """

    def __init__(self, leg: str, minimum: float, rare: "RareWords | None" = None) -> None:
        self._leg = leg
        self._minimum = minimum
        self._rare = rare

    def index(self, corpus: Corpus, top: float) -> None:
        """Count in how many chunks each word stands, where that is of use."""
        if self._rare:
            self._rare.index(corpus)

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return all the hits or none, or those that hold the rare words."""
        return self.follow(query, (), hits)

    def follow(self, query: str, expansion: Sequence[str], hits: Sequence[Hit]) -> StageResult:
        """As `apply`; words that are nowhere may be completed by those of `expansion`."""
        scores = [hit.legs[self._leg].score for hit in hits if self._leg in hit.legs]
        best = max(scores, default=None)
        enough = best is not None and best >= self._minimum
        if not hits or enough or any(hit.pinned for hit in hits):
            return StageResult(list(hits), counts={"in": len(hits), "out": len(hits)})
        found = "none was found by it" if best is None else f"the best there is {best:.3f}"
        why = f"below {self._minimum:g} by {self._leg}; {found}"
        kept = self._rare.keep(query, expansion, hits) if self._rare else []
        which = f"{len(hits) - len(kept)} of {len(hits)} hits" if kept else f"all {len(hits)} hits"
        note = f"dropped {which}: {why}"
        note += f"; kept {len(kept)} with the rare words" if kept else ""
        return StageResult(kept, note, {"in": len(hits), "out": len(kept)})


class RareWords:
    """Which hits hold every word of a query that stands in at most a `share` of the chunks.

    Words are the terms of the analyzer that keyword legs have unless another is set.
    """

    def __init__(self, share: float, resources: Resources) -> None:
        self._share = share
        self._resources = resources
        self._analyzer: Analyzer = ANALYZER.build()
        self._frequencies: Mapping[str, int] = {}
        self._most = 0.0

    def index(self, corpus: Corpus) -> None:
        """Count in how many chunks of `corpus` each word stands."""
        self._analyzer = corpus.find_analyzer(ANALYZER)
        counts = corpus.count_terms(ANALYZER, self._resources).counts
        held = counts.frequencies.tolist()
        self._frequencies = {word: held[column] for word, column in counts.vocabulary.items()}
        self._most = max(self._share * len(corpus.chunks), 1)

    def keep(self, query: str, expansion: Sequence[str], hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits that hold all rare words of `query`; none where it has none."""
        wanted = []
        for word in dict.fromkeys(self._analyzer.analyze(query)):
            if word not in self._frequencies:
                full = [term for term in expansion if term.startswith(word)]
                wanted.append({term for text in full for term in self._analyzer.analyze(text)})
            elif self._frequencies[word] <= self._most:
                wanted.append({word})
        if not all(wanted):
            return []
        return [hit for hit in hits if wanted and self._hold(hit, wanted)]

    def _hold(self, hit: Hit, wanted: Sequence[Collection[str]]) -> bool:
        held = set(self._analyzer.analyze(hit.chunk.searchable))
        return not any(held.isdisjoint(words) for words in wanted)
