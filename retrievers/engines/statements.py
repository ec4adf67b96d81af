"""Engines that are asked in SQL: two lists and their fusion are one statement."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import Field

from assay.retrievers.engines.adapter import Adapter, H
from assay.retrievers.engines.base import LegWeights, StoreSettings
from assay.retrievers.engines.formulas import Formula, ReciprocalRanks, ScaledScores
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

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


class StatementSettings(StoreSettings):
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


C = TypeVar("C", bound=StatementSettings)


class StatementEngine(Adapter[C, H]):
    """Asks in SQL with `$name` parameters; a subclass says how, and what its two lists are.

    Equal scores are ordered by position, in the statement.
    """

    @property
    def formula(self) -> Formula:
        """The fusion of the statement."""
        weights = (self._settings.weights.dense, self._settings.weights.keyword)
        if self._settings.fusion == "rrf":
            return ReciprocalRanks(k=self._settings.k, weights=weights)
        return ScaledScores(weights)

    def _search_dense(self, opened: H, vector: Vectors, limit: int) -> list[Scored]:
        return self._list(opened, self._select_dense(vector, limit))

    def _search_keyword(self, opened: H, text: str, limit: int) -> list[Scored]:
        return self._list(opened, self._select_keyword(text, limit))

    def _search_hybrid(self, opened: H, text: str, vector: Vectors, limit: int) -> list[Scored]:
        settings = self._settings
        dense = self._select_dense(vector, self.depth.dense)
        keyword = self._select_keyword(text, self.depth.keyword)
        rrf = settings.fusion == "rrf"
        statement = FUSION.format(
            dense=dense.statement,
            keyword=keyword.statement,
            share=RRF if rrf else MIN_MAX,
        )
        parameters = {
            **dense.parameters,
            **keyword.parameters,
            "dense_weight": settings.weights.dense,
            "keyword_weight": settings.weights.keyword,
            "limit": limit,
        }
        return self._ask(opened, statement, parameters | ({"k": settings.k} if rrf else {}))

    def _list(self, opened: H, select: Select) -> list[Scored]:
        return self._ask(opened, LIST.format(found=select.statement), select.parameters)

    @abstractmethod
    def _select_dense(self, vector: Vectors, limit: int) -> Select:
        """Return what selects the `limit` texts of greatest cosine."""

    @abstractmethod
    def _select_keyword(self, text: str, limit: int) -> Select:
        """Return what selects the `limit` texts of greatest BM25 score."""

    @abstractmethod
    def _ask(self, opened: H, statement: str, parameters: Mapping[str, Any]) -> list[Scored]:
        """Return the rows of a statement."""
