"""Engines that are asked in SQL: two lists and their fusion are one statement."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from retrievers.engines.base import Engine, LegWeights, StoreSettings, check_dimensions
from retrievers.engines.formulas import Formula, ReciprocalRanks, ScaledScores
from retrievers.models.base import Vectors
from retrievers.ranking import Scored

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
    SELECT position, $dense_weight {share} AS share FROM dense WHERE {dense_counts}
    UNION ALL
    SELECT position, $keyword_weight {share} AS share FROM keyword WHERE {keyword_counts}
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
        default_factory=LegWeights,
        description="weight of each list; with rrf, 0 leaves out what only that list holds",
    )


class StatementEngine(Engine):
    """Asks in SQL with `$name` parameters; a subclass says how, and what its two lists are."""

    name: ClassVar[str]

    def __init__(self, settings: StatementSettings) -> None:
        self.depth = settings.depth
        self._fusion = settings
        self._dimensions = 0

    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine, equal ones by position."""
        select = self._select_dense(self._check(vector), limit)
        return self._ask(LIST.format(found=select.statement), select.parameters)

    def keyword(self, text: str, limit: int) -> list[Scored]:
        """Return the texts of greatest BM25 score, equal ones by position."""
        select = self._select_keyword(text, limit)
        return self._ask(LIST.format(found=select.statement), select.parameters)

    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        """Return the fused texts, from one statement."""
        dense = self._select_dense(self._check(vector), self.depth.dense)
        keyword = self._select_keyword(text, self.depth.keyword)
        rrf = self._fusion.fusion == "rrf"
        statement = FUSION.format(
            dense=dense.statement,
            keyword=keyword.statement,
            share=RRF if rrf else MIN_MAX,
            dense_counts="$dense_weight > 0" if rrf else "true",
            keyword_counts="$keyword_weight > 0" if rrf else "true",
        )
        parameters = {
            **dense.parameters,
            **keyword.parameters,
            "dense_weight": self._fusion.weights.dense,
            "keyword_weight": self._fusion.weights.keyword,
            "limit": limit,
        }
        return self._ask(statement, parameters | ({"k": self._fusion.k} if rrf else {}))

    @property
    def formula(self) -> Formula:
        """The fusion of the statement."""
        weights = (self._fusion.weights.dense, self._fusion.weights.keyword)
        if self._fusion.fusion == "rrf":
            return ReciprocalRanks(k=self._fusion.k, weights=weights)
        return ScaledScores(weights)

    def _check(self, vector: Vectors) -> Vectors:
        if self._dimensions:
            check_dimensions(self.name, vector, self._dimensions)
        return vector

    @abstractmethod
    def _select_dense(self, vector: Vectors, limit: int) -> Select:
        """Return what selects the `limit` texts of greatest cosine."""

    @abstractmethod
    def _select_keyword(self, text: str, limit: int) -> Select:
        """Return what selects the `limit` texts of greatest BM25 score."""

    @abstractmethod
    def _ask(self, statement: str, parameters: Mapping[str, Any]) -> list[Scored]:
        """Return the rows of a statement; none where nothing is indexed."""
