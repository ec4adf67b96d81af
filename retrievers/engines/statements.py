"""Engines queried in SQL: two lists and their fusion are one statement."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import Field

from assay.retrievers.engines.adapter import AdapterSettings
from assay.retrievers.engines.base import LegWeights
from assay.retrievers.engines.formulas import Formula, ReciprocalRanks, sum_scaled

RRF = "/ ($k + row_number() OVER (ORDER BY score DESC, position))"
MIN_MAX = """* CASE WHEN max(score) OVER () > min(score) OVER ()
    THEN (score - min(score) OVER ()) / (max(score) OVER () - min(score) OVER ()) ELSE 1.0 END"""
# Whatever is materialised is computed as written: moved into the outer query, an order or a limit
# would keep an index from being used.
LIST = """WITH found AS MATERIALIZED ({found})
SELECT position, score FROM found ORDER BY score DESC, position"""
FUSION = """WITH dense AS MATERIALIZED ({dense}),
keyword AS MATERIALIZED ({keyword}),
shares AS (
    SELECT position, $dense_weight {share} AS share FROM dense
    UNION ALL
    SELECT position, $keyword_weight {share} AS share FROM keyword
)
SELECT position, sum(share) AS score FROM shares
GROUP BY position ORDER BY sum(share) DESC, position LIMIT $limit"""


class Select(NamedTuple):
    """A SELECT of `position` and `score`, higher ones better, with the values of its parameters."""

    statement: str
    parameters: Mapping[str, Any]

    @property
    def listed(self) -> "Select":
        """The statement that orders its rows, equal scores by position."""
        return Select(LIST.format(found=self.statement), self.parameters)


class StatementSettings(AdapterSettings):
    """Base of the settings of engines whose fusion is a statement written here."""

    fusion: Literal["rrf", "min-max"] = Field(
        "rrf",
        description=(
            "rrf: reciprocal rank fusion; min-max: weighted sum of scores, each list scaled so "
            "that its worst is 0 and its best is 1"
        ),
    )
    k: int = Field(
        60, ge=0, description="rrf's constant: a list adds weight / (k + rank), ranks from 1"
    )
    weights: LegWeights = Field(
        default_factory=LegWeights, description="weight of each list in the fusion"
    )

    def make_formula(self) -> Formula:
        """Return the fusion of the statement."""
        weights = (self.weights.dense, self.weights.keyword)
        if self.fusion == "rrf":
            return ReciprocalRanks(k=self.k, weights=weights)
        return sum_scaled(weights)

    def fuse(self, dense: Select, keyword: Select, limit: int) -> Select:
        """Return the statement that fuses two lists; equal scores are ordered by position."""
        rrf = self.fusion == "rrf"
        statement = FUSION.format(
            dense=dense.statement,
            keyword=keyword.statement,
            share=RRF if rrf else MIN_MAX,
        )
        parameters = {
            **dense.parameters,
            **keyword.parameters,
            "dense_weight": self.weights.dense,
            "keyword_weight": self.weights.keyword,
            "limit": limit,
            **({"k": self.k} if rrf else {}),
        }
        return Select(statement, parameters)
