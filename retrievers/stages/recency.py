"""Recency: what was written or changed of late counts for more."""

import copy
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import date
from typing import Any, Literal

from pydantic import Field

from assay.retrievers.base import Hit
from assay.retrievers.base.frontmatter import Frontmatter
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.settings import Resources, Settings
from assay.retrievers.stages.base import Stage, StageResult, StageSettings, part_pinned

# Where a document's frontmatter dates it, the best first.
FIELDS = ("modified", "updated", "date", "created")


class Tier(Settings):
    """What the scores of young documents are multiplied by."""

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
        """The same stage, whose newest date is one of these documents."""
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
        """The day ages are counted from."""
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
    """Return the day a document was last changed or else made; None where no date can be read."""
    for name in FIELDS:
        try:
            return date.fromisoformat(frontmatter.dates.get(name, "")[:10])
        except ValueError:
            continue
    return None
