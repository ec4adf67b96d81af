"""What an index of Elasticsearch is made with, and how its retrievers fuse."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.engines.analyzer_coverage import WordKey
from assay.retrievers.engines.base import LegWeights
from assay.retrievers.engines.capabilities import Feature
from assay.retrievers.engines.elasticsearch.features import LINEAR, RRF
from assay.retrievers.engines.elasticsearch.fusion import LinearScores
from assay.retrievers.engines.formulas import Formula, Head, ReciprocalRanks
from assay.retrievers.engines.lucene import LUCENE_WORDS, LuceneBm25Settings
from assay.retrievers.engines.servers.service import ServiceSettings
from assay.retrievers.settings.trust import PLACE

# The most num_candidates, and so the most neighbours.
DEEPEST = 10_000


class ElasticsearchIndexSettings(ServiceSettings):
    """What Elasticsearch can be told."""

    words: ClassVar[WordKey | None] = LUCENE_WORDS
    ca_certs: Annotated[str | None, PLACE] = Field(
        None, description="file with the certificates of the authorities to trust"
    )
    bm25: LuceneBm25Settings = Field(
        default_factory=LuceneBm25Settings, description="the engine's keyword index"
    )
    fusion: Literal["rrf", "linear"] = Field(
        "rrf",
        description=(
            "the retriever: rrf, reciprocal rank fusion; linear, weighted sum of scores, each "
            "list's lowest scaled to 0 and its highest to 1. Both need a licence of Elastic"
        ),
    )
    k: int = Field(
        60, ge=1, description="rrf's rank_constant; a list adds 1 / (k + rank), ranks from 1"
    )
    weights: LegWeights = Field(default_factory=LegWeights, description="linear only")
    exact: bool = Field(
        True, description="flat index, which compares with every vector; false: an HNSW graph"
    )
    m: int = Field(16, ge=2, le=512, description="HNSW: edges of a node")
    ef_construction: int = Field(
        100, ge=2, le=3200, description="HNSW: candidates when the graph is built"
    )
    candidates: int = Field(
        200,
        ge=1,
        le=DEEPEST,
        description="HNSW: candidates when searching; never fewer than are asked for",
    )

    @model_validator(mode="after")
    def _can_fuse(self) -> "ElasticsearchIndexSettings":
        if self.depth.dense != self.depth.keyword:
            raise ValueError(
                "depth: Elasticsearch cuts both lists at one rank_window_size; make both the same"
            )
        if not 2 <= self.depth.dense <= DEEPEST:
            raise ValueError(f"depth: Elasticsearch takes 2 to {DEEPEST} candidates of a list")
        if self.fusion == "rrf" and self.weights != LegWeights():
            raise ValueError("fusion rrf has no weights here; leave them out, or use linear")
        return self

    @property
    def features(self) -> list[Feature]:
        """What these settings ask of a server that not every one has."""
        return [RRF if self.fusion == "rrf" else LINEAR]

    def make_formula(self) -> Formula:
        """Return the fusion; no more than a list is deep are returned of it."""
        whole: Formula = ReciprocalRanks(k=self.k, single=True)
        if self.fusion == "linear":
            whole = LinearScores((self.weights.dense, self.weights.keyword))
        return Head(whole, self.depth.dense)

    def list_shape(self) -> list[object]:
        """Return the settings on which an index depends."""
        return [self.bm25, *([] if self.exact else [self.m, self.ef_construction])]
