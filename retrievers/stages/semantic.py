"""Paraphrases: passages whose vectors lie close to that of a better one."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from assay.retrievers.base import Hit
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.models.registry import AnyEncoder
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import Stage, StageResult, StageSettings
from assay.retrievers.stages.similarity import Similarity, keep_unlike


class SemanticSettings(StageSettings):
    """Drops hits whose embedding is close to that of a better hit."""

    type: Literal["semantic"]
    encoder: AnyEncoder = Field(
        default_factory=EncoderSettings,
        description="the embedding model, or its name; a dense leg's own costs nothing more",
    )
    threshold: float = Field(
        0.85, gt=-1, lt=1, description="the cosine from which two hits are one"
    )

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return Semantic(self.encoder.build(resources), self.threshold)


class Semantic(Stage):
    """Drops a hit whose cosine to one that is kept is at least `threshold`."""

    def __init__(self, encoder: CachingEncoder, threshold: float) -> None:
        self._similarity = Similarity(encoder)
        self._threshold = threshold

    def index(self, corpus: Corpus, top: float) -> None:
        """Take the chunks' vectors."""
        self._similarity.index(corpus)

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` without those that resemble one kept before them."""
        kept = keep_unlike(self._similarity.compare(hits), self._threshold)
        dropped = len(hits) - len(kept)
        note = f"dropped {dropped} hits of cosine {self._threshold:g} or more with a better one"
        return StageResult(
            [hits[i] for i in kept],
            note if dropped else "",
            {"in": len(hits), "out": len(kept)},
        )

    def metadata(self) -> Mapping[str, Any]:
        """The facts of the encoder."""
        return {"encoder": dict(self._similarity.metadata())}
