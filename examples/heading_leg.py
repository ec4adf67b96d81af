"""A leg of your own, by which a query finds the headings that hold its words."""

from typing import ClassVar

from assay.retrievers.base import IndexReport
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.fusion.ranking import ordered
from assay.retrievers.legs.base import Kind, Leg, LegResult, LegSettings
from assay.retrievers.settings import Resources


class HeadingSettings(LegSettings):
    """Chunks under headings that hold words of the query."""

    kind: ClassVar[Kind] = "keyword"

    def build(self, resources: Resources) -> Leg:
        return HeadingLeg()


class HeadingLeg(Leg):
    def index(self, corpus: Corpus) -> IndexReport:
        self.words = [set(" ".join(chunk.headings).lower().split()) for chunk in corpus.chunks]
        return IndexReport(len(corpus.chunks))

    def search(self, query: str, depth: int) -> LegResult:
        asked = set(query.lower().split())
        found = ((i, float(len(asked & words))) for i, words in enumerate(self.words))
        return LegResult(ordered(pair for pair in found if pair[1])[:depth], {"search": 0.0})
