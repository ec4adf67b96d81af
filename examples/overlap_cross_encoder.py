"""A cross-encoder of your own, which counts the words that query and passage share."""

from collections.abc import Sequence
from typing import Literal

from assay.retrievers.models.base import CrossEncoder
from assay.retrievers.models.choice import CrossEncoderChoice
from assay.retrievers.settings import Resources


class OverlapSettings(CrossEncoderChoice):
    """The share of the query's words that the passage holds."""

    scores: Literal["probability"] = "probability"

    def build(self, resources: Resources) -> CrossEncoder:
        return Overlap()


class Overlap(CrossEncoder):
    identity = "overlap"

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        words = set(query.lower().split())
        return [len(words & set(text.lower().split())) / max(len(words), 1) for text in texts]
