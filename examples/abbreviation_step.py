"""A query step of your own, which writes abbreviations out before any leg searches."""

from dataclasses import replace

from pydantic import Field

from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.query.base import LegKinds, QueryStep, QueryStepSettings, StepResult
from assay.retrievers.settings import Resources


class AbbreviationSettings(QueryStepSettings):
    """Writes abbreviations out."""

    words: dict[str, str] = Field(description="what stands for each abbreviation")

    def build(self, resources: Resources, legs: LegKinds) -> QueryStep:
        return Abbreviations(self.words)


class Abbreviations(QueryStep):
    def __init__(self, words: dict[str, str]) -> None:
        self.words = words

    def apply(self, request: LegQuery) -> StepResult:
        text = " ".join(self.words.get(word, word) for word in request.text.split(" "))
        return StepResult(replace(request, text=text))
