"""Query classification: what kind of query it is decides how much each kind of leg counts."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from pydantic import Field

from assay.retrievers.legs.base import Kind
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.query.base import LegKinds, QueryStep, QueryStepSettings, StepResult
from assay.retrievers.settings import Resources

QueryType = Literal["factual", "navigational", "exploratory"]

# Identifiers, quoted phrases, code in backticks, versions, names with a sign: C++ and C#.
_FACTUAL = re.compile(
    r"`[^`]+`|\"[^\"]+\"|“[^“”]+”|[a-z][A-Z]|[A-Za-z]_[A-Za-z]|\bv?\d+\.\d+"
    r"|(?<![\w+#])[A-Za-z](?:\+\+|\#)(?![A-Za-z_+#])"
)
# A place that is only one when something is said to be in it: “login manual” may be wanted itself.
_PLACES = r"(?:page|manual|handbook|readme|docs?|documentation|reference|appendix|wiki|faq)"
_NAVIGATIONAL = re.compile(
    r"\[\[|\]\]|\b(?:sections?|chapters?|guides?)\b"
    rf"|\b(?:in|on)\s+the\s+(?:[\w-]+\s+){{0,3}}{_PLACES}\b",
    re.I,
)
# The kind of leg that each type of query is best served by.
_SERVED_BY: Mapping[QueryType, Kind] = {
    "factual": "keyword",
    "navigational": "graph",
    "exploratory": "semantic",
}


class ClassifySettings(QueryStepSettings):
    """Weighs the legs by the type of the query: factual, navigational or exploratory."""

    type: Literal["classify"]
    factual: float = Field(
        1.5, gt=0, description="factor of keyword legs for identifiers, phrases and versions"
    )
    navigational: float = Field(
        1.5, gt=0, description="factor of graph legs for queries that name a place in the documents"
    )
    exploratory: float = Field(1.3, gt=0, description="factor of semantic legs for all others")

    def build(self, resources: Resources, legs: LegKinds) -> QueryStep:
        """Return the step."""
        return Classify(self, legs)


class Classify(QueryStep):
    """Multiplies the weights of the legs that serve a query's type best."""

    def __init__(self, settings: ClassifySettings, legs: LegKinds) -> None:
        self._factors: Mapping[QueryType, float] = {
            "factual": settings.factual,
            "navigational": settings.navigational,
            "exploratory": settings.exploratory,
        }
        self._legs = legs

    def apply(self, request: LegQuery) -> StepResult:
        """Return `request` with the factors of its type on top of those it has."""
        found = classify(request.text)
        factor = self._factors[found]
        factors = {
            name: request.factors.get(name, 1.0) * (factor if kind == _SERVED_BY[found] else 1.0)
            for name, kind in self._legs.items()
        }
        return StepResult(
            replace(request, factors=factors), f"{found}: {_SERVED_BY[found]} legs × {factor:g}"
        )


def classify(text: str) -> QueryType:
    """Return the type of a query; the most general where nothing speaks for another."""
    if _FACTUAL.search(text):
        return "factual"
    return "navigational" if _NAVIGATIONAL.search(text) else "exploratory"
