"""Stages that look at scores: a document's age, a scale from 0 to 1, a minimum."""

import copy
import math
import sys
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from datetime import date
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.base import Hit
from assay.retrievers.base.frontmatter import Frontmatter
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.stages.base import (
    Comparison,
    Scale,
    Stage,
    StageResult,
    StageSettings,
    descend,
    part_pinned,
)
from assay.retrievers.text.base import Analyzer
from assay.retrievers.text.languages import LanguageAnalyzerSettings

# Where a document's frontmatter dates it, the best first.
FIELDS = ("modified", "updated", "date", "created")


class Tier(Settings):
    """The factor on the scores of young documents."""

    days: int = Field(ge=1, description="documents less than so many days old")
    factor: float = Field(gt=0, description="what their scores are multiplied by")


class RecencySettings(StageSettings):
    """Raises the scores of documents that their frontmatter dates of late."""

    type: Literal["recency"]
    tiers: list[Tier] = Field(
        default_factory=lambda: [Tier(days=7, factor=1.2), Tier(days=30, factor=1.1)],
        min_length=1,
        description="factors by age; the youngest tier that a document belongs to counts",
    )
    bias: float = Field(
        1.0,
        ge=0,
        le=1,
        description="how much of each factor counts: 1 all of it, 0.5 half of what it adds, 0 none",
    )
    # Lax, so that a date written as text, as JSON has it, is one too.
    today: date | None = Field(
        None,
        strict=False,
        description="the day ages are counted from; the newest date of a document if not given",
    )

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return Recency(self)


class Recency(Stage):
    """Multiplies the scores of young documents.

    Age counts from a set day and not from the day of the search, so that a run can be repeated.
    A document dated after that day has age 0; one without a date keeps its scores. So do pinned
    hits, which are not outdated by younger documents.
    """

    def __init__(self, settings: RecencySettings) -> None:
        self._tiers = sorted(settings.tiers, key=lambda tier: tier.days)
        self._bias = settings.bias
        self._given = settings.today
        self._today = settings.today
        self._dates: Mapping[str, date] = {}
        self._factors: Mapping[str, float] = {}

    def index(self, corpus: Corpus, top: float) -> None:
        """Find the age of every document."""
        read = ((id_, find_date(frontmatter)) for id_, frontmatter in corpus.frontmatter.items())
        self._count({id_: found for id_, found in read if found is not None})

    def restrict(self, documents: Set[str]) -> Stage:
        """Return the same stage, whose newest date is one of these documents."""
        other = copy.copy(self)
        other._count({id_: found for id_, found in self._dates.items() if id_ in documents})
        return other

    def _count(self, dates: Mapping[str, date]) -> None:
        self._dates = dates
        self._today = self._given or max(dates.values(), default=None)
        self._factors = {
            id_: factor for id_, found in dates.items() if (factor := self._factor(found)) != 1
        }

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` in the order of their new scores, none above that of a pinned one."""
        pinned, others = part_pinned(hits)
        boosted = sum(hit.chunk.doc_id in self._factors for hit in others)
        counts = {"in": len(hits), "out": len(hits), "boosted": boosted}
        if not boosted:
            return StageResult(list(hits), counts=counts)
        highest = math.nextafter(pinned[-1].score, -math.inf) if pinned else math.inf
        scored = [replace(hit, score=min(self._boost(hit), highest)) for hit in others]
        scored.sort(key=lambda hit: (hit.score, hit.chunk.id), reverse=True)
        note = f"{boosted} hits are of documents that were young on {self._today}"
        return StageResult(pinned + scored, note, counts)

    def metadata(self) -> Mapping[str, Any]:
        """Return the day ages are counted from."""
        return {"today": self._today.isoformat() if self._today else None}

    def _factor(self, found: date) -> float:
        if self._today is None:
            return 1.0
        age = (self._today - found).days
        factor = next((tier.factor for tier in self._tiers if age < tier.days), 1.0)
        return self._bias * factor + (1 - self._bias)

    def _boost(self, hit: Hit) -> float:
        factor = self._factors.get(hit.chunk.doc_id, 1.0)
        # A cosine may be negative; a factor above 1 must raise that too.
        return hit.score * factor if hit.score >= 0 else hit.score / factor


def find_date(frontmatter: Frontmatter) -> date | None:
    """Return the day a document was last changed or else made; None if no date can be read."""
    for name in FIELDS:
        try:
            return date.fromisoformat(frontmatter.dates.get(name, "")[:10])
        except ValueError:
            continue
    return None


# e^700 is the last that a float holds, and 1 / (1 + e^700) still leaves room for lesser scores.
LARGEST_EXPONENT = 700.0


class CalibrateSettings(StageSettings):
    """Maps fused scores to between 0 and 1 by a logistic function; their order stays."""

    scale: ClassVar[Scale] = "calibrated"
    type: Literal["calibrate"]
    midpoint: float = Field(
        0.5, ge=0, le=1, description="the share of the highest possible score that becomes 0.5"
    )
    steepness: float = Field(
        10.0, gt=0, description="how fast scores go from 0 to 1 around the midpoint"
    )

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return Calibrate(self.midpoint, self.steepness)


class Calibrate(Stage):
    """Gives each hit 1 / (1 + exp(-steepness * (score / top - midpoint))).

    `top` is what a chunk that every leg puts first would have, boosts apart. With reciprocal rank
    fusion of two legs, what one leg alone puts first is at 0.5, by default.
    """

    def __init__(self, midpoint: float, steepness: float) -> None:
        self._midpoint = midpoint
        self._steepness = steepness
        self._top = 1.0

    def index(self, corpus: Corpus, top: float) -> None:
        """Learn the highest score; 0 if every leg is boosted, which saturates what is found."""
        self._top = max(top, sys.float_info.min)

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` with new scores, which strictly descend and stay within 0 and 1.

        Boosts and factors lift scores above `top`; scores that the function no longer distinguishes
        are each lowered by the smallest step below the one before.
        """
        counts = {"in": len(hits), "out": len(hits)}
        if not hits:
            return StageResult([], counts=counts)
        calibrated = descend((hit, self._calibrate(hit.score)) for hit in hits)
        first, last = calibrated[0].score, calibrated[-1].score
        note = f"scores from {hits[0].score:.4g} to {hits[-1].score:.4g} are now "
        return StageResult(calibrated, f"{note}{first:.3f} to {last:.3f}", counts)

    def _calibrate(self, score: float) -> float:
        exponent = self._steepness * (self._midpoint - score / self._top)
        limit = LARGEST_EXPONENT
        return 1 / (1 + math.exp(min(max(exponent, -limit), limit)))


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
        """Drop hits as `apply` does; words that no chunk has may be completed by `expansion`."""
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
    """Selects the hits that hold every query word found in at most a `share` of the chunks.

    Words are the terms of the analyzer that keyword legs use by default.
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
